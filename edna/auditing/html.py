"""The report as one page of HTML, for reading and printing: nothing in it is loaded from elsewhere."""

from __future__ import annotations

from pathlib import Path

from django.template import Context, Engine

from edna.auditing.remaining_columns import Standing, grouped
from edna.auditing.report import WHO_APPLIES, Report, personal_or_changed
from edna.auditing.treatment import Becomes, Table


def written(report: Report) -> str:
    # By an engine of its own: a site need not have templates.
    engine = Engine(dirs=[str(Path(__file__).parent / "templates")])
    context = {
        "searches": report.searches,
        "standings": [(each, report.standing(each), grouped(report.standing(each))) for each in Standing],
        "uncovered": report.uncovered,
        "treatments": [
            {
                "disguise": each.disguise,
                "description": each.disguise.described(),
                "applied_by": WHO_APPLIES.get(each.disguise.applies_to, each.disguise.applies_to),
                "params": [(name, kind.__name__) for name, kind in each.disguise.params.items()],
                "removes_account": each.removes_account,
                "tables": [_table(table) for table in each.touched],
                "left_alone": each.left_alone,
            }
            for each in report.treatments
        ],
        "by_hand": report.by_hand.items(),
        "record": report.record,
    }
    return engine.get_template("report.html").render(Context(context))


def _table(table: Table) -> dict[str, object]:
    columns = table.columns.values()
    whole = all(column.becomes is Becomes.REMOVED and not column.partly for column in columns)
    shown = personal_or_changed(table)
    return {
        "label": table.label,
        "acts": table.acts,
        "whole": whole,
        "columns": [] if whole else shown,
        "rest": [] if whole else [column.name for column in columns if column not in shown],
    }
