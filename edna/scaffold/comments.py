"""Why a draft has a step, and what a person has to decide about it: the comments above each step.

Says what models say; it cannot know what a site means by them, and marks that with ``Decide:``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.contrib.contenttypes.fields import GenericForeignKey
from django.db.models import Model

from edna import coverage, histories, personal_columns, registry, trees
from edna.coverage import Relation, same_table, tables_of_object
from edna.naming import written_model
from edna.personal_columns import Looks
from edna.remedies import Step, is_of_principals
from edna.rights import grants_of_django
from edna.scaffold.draft import Draft, rights_of_others
from edna.scaffold.kinds import NEVER_BACK, Kind, kind_of, on_delete_of
from edna.spec import ANY_LEFT, NOTHING, Decorrelate, Keep, Modify, Remove
from edna.value_owners import is_by_value

#: What a row that stays may tell, beside what is replaced.
_MAY_TELL = personal_columns.SAYS_WHO | {Looks.TEXT, Looks.FILE, Looks.DATA, Looks.PLACE, Looks.WEB, Looks.ABOUT}


def comments_on(draft: Draft, step: Step) -> list[str]:
    """One paragraph each."""
    if isinstance(step, Keep):
        return _kept(draft, step)
    if isinstance(step, Decorrelate):
        return _renamed(draft, step)
    if isinstance(step, Modify):
        return _changed(draft, step)
    if not step.owners:
        return _account(step)
    return _removed(draft, step)


def what_stays(draft: Draft, relation: Relation) -> str:
    """One line for a relation that its model empties."""
    told = _telling(draft, relation.model, [relation.field.name])
    keeps = f"; keeps {', '.join(told)}" if told else ""
    return f"{relation.label} ({on_delete_of(relation)}){keeps}"


def _account(step: Remove) -> list[str]:
    text = "The account itself. Everything below and above goes with it."
    if step.returning is not None:
        text = "The account itself. Rights do not come back with it by themselves."
    return [text]


def _removed(draft: Draft, step: Remove) -> list[str]:
    kind = kind_of(step.model, principals=draft.principals)
    if any(map(is_by_value, step.owners)):
        if rights_of_others(draft, step.model):
            return ["Generic: rights of others, about the account."]
        text = f"{'Log' if kind is Kind.LOG else 'Generic'}: it is about the account, by content type and number."
        first = " It goes with whoever leaves first: who made it, or whom it is about." if step.when is ANY_LEFT else ""
        return [text + first]
    direct = [owner for owner in step.owners if "__" not in owner]
    paragraphs = _what_goes(draft, step, kind, direct)
    if len(direct) > 1:
        if told := _telling(draft, step.model, direct):
            paragraphs.append(
                f"Decide: until then it keeps {', '.join(told)}. Replace with Modify what tells who left."
            )
        each = ", ".join(f'Remove({written_model(step.model)}, owner="{name}")' for name in direct)
        paragraphs.append(f"Decide: if it is to go with whoever leaves first: {each}.")
    if kind not in NEVER_BACK and (people := _other_people(draft, step)):
        paragraphs.append(
            f"Decide: {', '.join(people)} may be somebody else, whose rows go and come back with this person. To keep them, "
            f"Decorrelate {_target(step)} instead of removing it."
        )
    return paragraphs


def _what_goes(draft: Draft, step: Remove, kind: Kind, direct: Sequence[str]) -> list[str]:
    paragraphs: list[str] = []
    if kind is Kind.RIGHTS and rights_of_others(draft, step.model):
        paragraphs.append(
            "Rights. Decide: those of others about the account are in this table, too, so all come back. edna.NOTHING in each of its "
            "steps ends them, for the others as well."
        )
    elif kind is Kind.RIGHTS and grants_of_django(step.model, draft.principals):
        paragraphs.append("Through table: rights, which do not come back by themselves.")
    elif kind is Kind.RIGHTS:
        paragraphs.append(f"Through table: {_through(step.model)}. It looks like rights.")
        if step.returning is NOTHING:
            paragraphs.append(
                "Decide: they do not come back. edna.AS_IT_WAS if they should, also where all others lost them meanwhile."
            )
        else:
            paragraphs.append(
                "Decide: they come back, as other rows need them. returning={...} says with which values."
            )
    elif kind in (Kind.TOKEN, Kind.SESSION):
        what = "whoever has it can act as this person" if kind is Kind.TOKEN else "a new one begins when they are back"
        paragraphs.append(f"{kind.value.capitalize()}: {what}.")
        if step.returning is NOTHING:
            paragraphs.append("Decide: it does not come back. edna.AS_IT_WAS if it should go on working then.")
    elif kind is Kind.FACTOR:
        paragraphs.append(f"Second factor: it goes and comes back with {_target(step)}.")
    elif (original := histories.original(step.model)) is not None:
        paragraphs.append(f"History: copies of rows of {written_model(original)}, which go.")
    elif kind is Kind.LOG:
        paragraphs.append("Log: what this person did." if direct else f"Log: what happened to {_target(step)}.")
    elif kind is Kind.THROUGH and (len(direct) == 1 or not direct):
        paragraphs.append(f"Through table: {_through(step.model)}.")
    elif kind is Kind.PROFILE and direct:
        paragraphs.append("Profile: one to one with the account.")
    elif len(direct) > 1:
        paragraphs.append(
            "Shared: it goes when the last of these people leaves, and loses the others' names until then."
        )
    elif direct and (keys := personal_columns.keys_of_accounts(step.model)):
        paragraphs.append(f"Beside the account: {keys[0].model._meta.label}.{keys[0].name} refers to it, one to one.")
    else:
        paragraphs.append(f"Cascade: it goes with {'the account' if direct else _target(step)}.")
    return paragraphs


def _renamed(draft: Draft, step: Decorrelate) -> list[str]:
    names = [field for field in step.model._meta.concrete_fields if field.name in step.owners]
    paragraphs: list[str] = []
    obstacle = draft.obstacles.get(step.model)
    original = histories.original(step.model)
    if original is not None:
        paragraphs.append(f"History: copies of rows of {written_model(original)}, which stay. These stay with them.")
    elif obstacle is not None and obstacle.model in tables_of_object(step.model):
        paragraphs.append(
            f"Tree: rows of others hang below ({obstacle.label}), so the row stays and loses its owner's name alone."
        )
    elif obstacle is not None:
        paragraphs.append(
            f"{obstacle.label} ({on_delete_of(obstacle)}) needs these rows or what hangs on them: they stay and lose their "
            "owner's name alone."
        )
    elif trees.places(step.model) and not trees.is_linked(step.model):
        paragraphs.append(
            f"Tree: rows of others may be below ({', '.join(trees.places(step.model))}), so the row stays and loses its owner's name alone."
        )
    else:
        said = sorted({on_delete_of(each) for each in _relations(step.model, [field.name for field in names])})
        whose = "Left alone by Django" if said == ["DO_NOTHING"] else "Kept by the site"
        paragraphs.append(f"{whose} ({', '.join(said)}): it stays and loses its owner's name alone.")
    if not step.model._meta.managed:
        paragraphs.append("Decide: Django does not manage this table. If it is a view, no step can change it.")
    if told := _telling(draft, step.model, step.owners):
        paragraphs.append(f"Decide: it keeps {', '.join(told)}. Replace with Modify what tells who it was.")
    return paragraphs


def _changed(draft: Draft, step: Modify) -> list[str]:
    links = [name for name in step.set if _refers(step.model, name)]
    if links:
        target = step.model._meta.get_field(links[0]).related_model
        if isinstance(target, type) and same_table(target, step.model) and "__" in step.owners[0]:
            return ["Tree: what hangs below a removed row and is not removed moves to the top."]
        if is_of_principals(step.model, draft.principals):
            return ["Another person's account: it stays, and refers to nobody."]
        if any("__" in owner for owner in step.owners):
            return [f"It stays, and refers to nothing: {', '.join(links)} pointed at what is removed."]
        return ["It stays, and is nobody's."]
    return ["These rows stay. Here is what would still say whose they were. Decide: is that all?"]


def _kept(draft: Draft, step: Keep) -> list[str]:
    field = step.model._meta.get_field(step.field)
    if not isinstance(field, GenericForeignKey):
        return [
            "Decide: its model says that this may point at nothing (DO_NOTHING, no constraint). It keeps the key of a removed "
            "row. Remove the rows instead, if it is about a person."
        ]
    return [
        "Decide: generic; it may point at rows that are removed here, and nothing leads back to it. If it does, and tells "
        "something, give their models a GenericRelation with a related_query_name and Remove along it. Of models of others: "
        'owner=edna.by_value("object_id", "post__pk"), say, where the content type is theirs.'
    ]


def _target(step: Remove) -> str:
    """What the row refers to and goes with."""
    name = step.owners[0].partition("__")[0]
    model = registry.owner_target(step.model, name)
    return f"its {model.__name__}"


def _through(model: type[Model]) -> str:
    owner = model._meta.auto_created
    names = [field.name for field in model._meta.local_fields if field.is_relation]
    return written_model(model).removesuffix(".through") if isinstance(owner, type) else " and ".join(names)


def _other_people(draft: Draft, step: Remove) -> list[str]:
    """References to people in rows that go because of what they refer to."""
    if any("__" not in owner for owner in step.owners):
        return []
    return [
        field.name
        for field in step.model._meta.local_concrete_fields
        if isinstance(field.related_model, type) and is_of_principals(field.related_model, [draft.principal])
    ]


def _telling(draft: Draft, model: type[Model], links: Collection[str] = ()) -> list[str]:
    """Columns of rows that stay, which may say whose they were, and which nothing replaces."""
    replaced = {name for step in draft.steps if isinstance(step, Modify) and step.model is model for name in step.set}
    return [
        column.name
        for column in model._meta.local_concrete_fields
        if column.name not in replaced
        and not column.is_relation
        and (personal_columns.looks(column) in _MAY_TELL or any(column.name.startswith(f"{link}_") for link in links))
    ]


def _relations(model: type[Model], names: list[str]) -> Iterator[Relation]:
    for field in model._meta.local_fields:
        if field.name in names and isinstance(field.related_model, type):
            column: Any = field
            yield Relation(model, column, field.related_model)


def _refers(model: type[Model], name: str) -> bool:
    column = coverage.column_of_object(model, name)
    return column is not None and column.is_relation
