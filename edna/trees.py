"""Trees that a library keeps in columns: a path, or the numbers of nested sets, which stand in for foreign keys or beside them.

A row's place is then written in other rows, too, and whoever removes the row without the library leaves theirs wrong. Reads model
definitions only, and guesses by the names that the libraries give: django-mptt and django-treebeard, and whoever does as they do.
"""

from __future__ import annotations

from typing import Final

from django.db.models import Model

from edna.coverage import relations_to, tables_of_object

#: A materialised path, and nested sets as django-treebeard and as django-mptt have them.
_PLACES: Final = (
    ("path", "depth", "numchild"),
    ("lft", "rgt", "tree_id", "depth"),
    ("lft", "rght", "tree_id", "level"),
)
#: Where a model of django-mptt has the names that somebody gave these columns.
_NAMED: Final = ("left_attr", "right_attr", "tree_id_attr", "level_attr")


def places(model: type[Model]) -> tuple[str, ...]:
    """The columns in which the library writes where a row stands; none, if the model is no such tree."""
    options = getattr(model, "_mptt_meta", None)
    named = tuple(str(getattr(options, name, "")) for name in _NAMED)
    columns = {field.name for field in model._meta.concrete_fields}
    return next((names for names in (named, *_PLACES) if columns.issuperset(names)), ())


def sorted_by(model: type[Model]) -> tuple[str, ...]:
    """The columns by which the library sorts the rows below one row, if it does."""
    said = (
        getattr(model, "node_order_by", None)
        or getattr(getattr(model, "_mptt_meta", None), "order_insertion_by", None)
        or ()
    )
    return tuple(str(name).lstrip("-") for name in said)


def table_of_places(model: type[Model]) -> type[Model]:
    """The model that has these columns: of a multi-table child, a parent."""
    return model._meta.get_field(places(model)[0]).model


def is_linked(model: type[Model]) -> bool:
    """Whether foreign keys, too, say what is below a row: steps can follow those."""
    family = tables_of_object(model._meta.concrete_model or model)
    return any(
        relation.model in family and not relation.is_parent_link for table in family for relation in relations_to(table)
    )
