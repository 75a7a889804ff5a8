"""Checks of steps that are to share pseudoprincipals: can two of them ever have a group in common?"""

from __future__ import annotations

from collections.abc import Iterator

from django.core.checks import CheckMessage, Warning

from edna.checks.steps import name_of, usable_steps
from edna.coverage import same_table
from edna.spec import ALL, Decorrelate, Disguise


def check_together(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    by_word: dict[str, list[Decorrelate]] = {}
    for step in usable_steps(disguise):
        if isinstance(step, Decorrelate) and step.together is not None:
            by_word.setdefault(step.together, []).append(step)
    for word, steps in by_word.items():
        if problem := _problem(steps):
            yield Warning(
                f"together={word!r} {problem}: no pseudoprincipal is shared.",
                hint='Give two steps the same word, and groups that can have the same values: group_by=["pk"] of topics and '
                'group_by=["topic"] of posts, or edna.ALL for both.',
                obj=name_of(disguise),
                id="edna.W323",
            )


def _problem(steps: list[Decorrelate]) -> str | None:
    if len(steps) == 1 and len(steps[0].owners) == 1:
        return "stands at one step with one owner only"
    shapes = [None if step.group_by is ALL else len(step.group_paths) for step in steps]
    if len(set(shapes)) == len(shapes) and len(steps) > 1:
        return "stands at steps whose groups have different numbers of values"
    if shapes == [0] * len(steps) and not any(same_table(step.model, steps[0].model) for step in steps[1:] or steps):
        return "stands at steps of different models that make a group of each row"
    return None
