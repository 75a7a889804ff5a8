"""``manage.py edna_reveal``: undo a disguise, with the person's key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.core.management.base import CommandError, CommandParser

from edna import api, inner_door, shards
from edna.errors import RevealRefused
from edna.management.base import PARTIAL, EdnaCommand, operator_of, pair, read_stdin, table, usage
from edna.management.credentials import add_key_arguments, check_usage, credentials
from edna.spec import ALL, model_field
from edna.words import count

REASONS: Final = {
    api.Reason.ROW_EXISTS: "a row with this primary key is there already",
    api.Reason.ROW_MISSING: "the row was deleted in the meantime",
    api.Reason.CHANGED: "{field} was changed in the meantime",
    api.Reason.UNIQUE_TAKEN: "another row has the same {field}; give a new one with --override {model}.{field}=VALUE",
    api.Reason.REFERENCE_MISSING: "the row that {field} points at is not there",
    api.Reason.CONSTRAINT: "the database refuses it",
    api.Reason.SCHEMA_CHANGED: "the table has other columns now",
    api.Reason.CALLBACK_MISSING: "no function is registered with edna.on_reveal under this name",
    api.Reason.CALLBACK_REFUSED: "the application holds it: {field}",
    api.Reason.OWNER_AWAY: "it is somebody else's, too, who is away: it comes back when they do",
    api.Reason.BAG_DAMAGED: "it may be somebody else's, too, and what would tell is in a bag that does not open",
    api.Reason.FILE_EXISTS: "another file has the name of its {field} by now",
}


class Command(EdnaCommand):
    noted = True
    help = (
        "Bring back what a disguise hid. Takes the receipt, and the key of the person it was issued to.\n\nNothing "
        "that was changed since is overwritten: what cannot be restored now stays sealed, is listed with the reason, "
        "and can\nbe revealed later with the same receipt."
    )
    examples = (
        "  manage.py edna_reveal edna1:shop.delete-account:... --recovery-code\n  manage.py edna_reveal - "
        "--secret-key-file bea.key < receipt.txt\n  manage.py edna_reveal edna1:shop.delete-account:... --identifier "
        "bea@example.org --override shop.user.email=bea2@example.org"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "receipt",
            metavar="RECEIPT",
            help="The receipt, as edna_disguise or the site has issued it; - reads it from standard input, so that it "
            "does not show in the list of processes.",
        )
        on_top = "where the server keeps no locators and this disguise came on top of that one"
        add_key_arguments(parser, required=True, receipts=on_top)
        parser.add_argument(
            "--override",
            metavar="APP.MODEL.FIELD=VALUE",
            action="append",
            default=[],
            type=pair,
            help="A new value for a unique column whose old value is taken by now.",
        )
        parser.add_argument(
            "--all-or-nothing", action="store_true", help="Restore nothing unless everything can be restored."
        )
        parser.add_argument(
            "--accept",
            metavar="APP.MODEL:KEY",
            action="append",
            default=[],
            help="A row that is given up if it cannot come back: what others did stands, and what is sealed of it is erased for good. "
            "The keys are those of the list of what is held; all means every row of it. Only the person can decide that.",
        )
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        check_usage(options, stdin_is_taken="give the receipt as an argument" if options["receipt"] == "-" else "")
        overrides = dict(map(_override, options["override"]))
        receipt = api.Receipt.parse(read_stdin() if options["receipt"] == "-" else options["receipt"])
        with api.unlock(**credentials(options), receipts=options["with_receipt"]) as unlocked:
            try:
                outcome = api.reveal(
                    receipt,
                    unlocked,
                    overrides=overrides,
                    accept=_accepted(options["accept"]),
                    allow_partial=not options["all_or_nothing"],
                )
            except RevealRefused as refused:
                if isinstance(refused.outcome, api.Outcome):
                    # What was restored until then has been undone.
                    self._report(receipt, api.Outcome(held=refused.outcome.held), options, using=unlocked.using)
                raise
        with shards.at(unlocked.using):
            inner_door.note_act("reveal", operator=operator_of(options), disguise=receipt.disguise)
        self._report(receipt, outcome, options, using=unlocked.using)
        if not outcome.complete:
            raise CommandError(
                f"{count(outcome.rows_held, 'row')} could not be revealed now and stay sealed; use the receipt again when "
                "nothing is in the way.",
                returncode=PARTIAL,
            )

    def _report(
        self, receipt: api.Receipt, outcome: api.Outcome, options: dict[str, Any], *, using: str | None
    ) -> None:
        if options["json"]:
            self.print_json({"disguise": receipt.disguise, **outcome.as_dict()})
            return
        where = shards.in_words(using)
        if outcome.restored:
            self.stdout.write(f"Restored{where}:\n{table(('table', 'rows'), sorted(outcome.restored.items()))}")
        else:
            self.stdout.write(f"Restored{where}: nothing")
        if outcome.deferred:
            deferred = table(("table", "rows"), sorted(outcome.deferred.items()))
            self.stdout.write(f"Comes back with another disguise of the same person:\n{deferred}")
        if outcome.altered:
            altered = [
                (model, name, n) for model, counts in sorted(outcome.altered.items()) for name, n in counts.items()
            ]
            self.stdout.write(f"Set anew, as the disguise says:\n{table(('table', 'column', 'rows'), altered)}")
        if outcome.dropped:
            dropped = table(("table", "rows"), sorted(outcome.dropped.items()))
            self.stdout.write(f"Do not come back, as the disguise says:\n{dropped}")
        if outcome.accepted:
            accepted = table(("table", "rows"), sorted(outcome.accepted.items()))
            self.stdout.write(f"Given up, and erased:\n{accepted}")
        if outcome.held:
            rows = [(held.model, held.pk, in_words(held)) for held in outcome.held]
            self.stdout.write(f"Held:\n{table(('table', 'row', 'why'), rows)}")


def in_words(held: api.Held) -> str:
    return REASONS.get(held.reason, str(held.reason)).format(model=held.model, field=held.field or "a column")


def _accepted(rows: Sequence[str]) -> Any:
    if "all" in rows:
        return ALL
    parts = [row.rpartition(":") for row in rows]
    if not all(model and key for model, _, key in parts):
        raise usage("--accept takes app.model:key, as the list of what is held has them, or all.")
    return [api.Held(model.lower(), key, api.Reason.CHANGED) for model, _, key in parts]


def _override(pair: tuple[str, str]) -> tuple[str, Any]:
    path, text = pair
    label, _, name = path.rpartition(".")
    try:
        field = model_field(apps.get_model(label), name)
    except (LookupError, ValueError, FieldDoesNotExist):
        raise CommandError(f"--override: there is no column {path!r}; write app.model.field=value.") from None
    try:
        return f"{field.model._meta.label_lower}.{field.name}", field.to_python(text)
    except ValidationError:
        raise CommandError(f"--override: the value for {path} does not read as a {type(field).__name__}.") from None
