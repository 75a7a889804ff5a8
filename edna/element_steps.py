"""Steps about elements: of a list or a document that names several people, each has what is theirs, and nothing else.

Knows steps and texts of owners; no rows.
"""

from __future__ import annotations

from edna import json_keys
from edna.errors import SpecError
from edna.spec import Modify, Transformation
from edna.value_owners import ByElement, element_of, is_by_value, parsed, written


def require_own_elements(step: Transformation) -> None:
    """
    Raises:
        SpecError: an owner is named in a list or a document, of which others have their part, and the step does not leave them that.
    """
    for owner in filter(is_by_value, step.owners):
        if isinstance(parsed(owner)[1], ByElement):
            element = element_of(step.owners)
            if element is None or not isinstance(step, Modify) or not step.set:
                raise SpecError(
                    f"{step.model._meta.label}: {written(owner)} is the only owner of a Modify. What else stands in the list or the "
                    "document is somebody else's, so a row cannot go for it."
                )
            around = json_keys.BETWEEN.join(element.element)
            if others := [
                name for name in step.set if not json_keys.covers(around, name) or not json_keys.is_key(name)
            ]:
                raise SpecError(
                    f"{step.model._meta.label}: {written(owner)} owns what stands in {around}, and the step sets {', '.join(others)}."
                )
