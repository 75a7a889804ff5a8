"""A draft as a Python module: imports, classes and comments, in the form that formatters leave alone.

Invariant: the same models give the same text.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from django.apps import apps
from django.db.models import Model

from edna.checks.specs import check_disguise
from edna.naming import hidden_in, written_arguments, written_import, written_model, written_step
from edna.remedies import Step
from edna.scaffold.columns import Filling, filling_of
from edna.scaffold.comments import comments_on, what_stays
from edna.scaffold.draft import Draft
from edna.scaffold.meanwhile import acceptable
from edna.scaffold.neighbours import behind, beside
from edna.scaffold.rows_by_value import Named, by_name_alone, in_lists, of_others_than_who_serves, without_account
from edna.spec import Remove

#: What most formatters break lines at.
_WIDTH: Final = 88
_HEAD: Final = '''"""What becomes of a person's data when they leave: a first draft by edna_scaffold.

It does what the models' on_delete says, so that it can be undone. Read every step.
"Decide:" marks what only you can know. Then delete these comments.
"""
'''
#: How far steps in comments are moved in.
_PASTED: Final = 12
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}


def written_module(drafts: Sequence[Draft]) -> str:
    """
    ``drafts``: one for each principal model.
    """
    fillings = {
        draft.principal: filling_of(draft.as_disguise(), draft.principal, principals=draft.principals)
        for draft in drafts
    }
    names = [_class_name(draft.name) for draft in drafts]
    classes = [
        text
        for draft, name in zip(drafts, names, strict=True)
        for text in (
            _generator(draft.principal, fillings[draft.principal]),
            _disguise(draft, name if names.count(name) == 1 else _class_name(draft.name.replace(".", "-"))),
        )
        if text
    ]
    body = "\n\n".join(classes)
    models = [step.model for draft in drafts for step in draft.steps]
    for model, filling in fillings.items():
        models += [model, *filling.companions] if filling is not None else []
    return f"{_HEAD}\n{_imports(models, body)}\n\n{body}"


def _imports(models: Iterable[type[Model]], body: str) -> str:
    lines = dict.fromkeys(written_import(model) for model in models)
    made = sorted(line for line in lines if not line.startswith("from "))
    names: dict[str, set[str]] = {}
    for line in lines:
        if line.startswith("from "):
            module, _, name = line.removeprefix("from ").partition(" import ")
            names.setdefault(module, set()).add(name)
    words = ("Decorrelate", "Disguise", "Keep", "Modify", "Pseudoprincipal", "Remove", "placeholders")
    names["edna"] = {word for word in words if re.search(rf"\b{word}\b", _without_comments(body))}
    if made:
        names["django.apps"] = {"apps"}
    plain = [name for name in ("secrets", "uuid") if f"{name}." in body]
    standard = "".join(f"import {name}\n" for name in plain)
    sections = [standard] if plain else []
    imports = ["import edna"]
    for module in sorted(names):
        plain_names = sorted((name for name in names[module] if " as " not in name), key=_classes_first)
        groups = [[name] for name in names[module] if " as " in name] + ([plain_names] if plain_names else [])
        for group in sorted(groups):
            imports += _broken(f"from {module} import {', '.join(group)}", group, module)
    sections.append("\n".join(imports) + "\n")
    if made:
        sections.append("\n".join(made) + "\n")
    return "\n".join(sections)


def _classes_first(name: str) -> tuple[bool, str]:
    """As import sorters have it."""
    return name[:1].islower(), name.lower()


def _broken(line: str, names: Sequence[str], module: str) -> list[str]:
    if len(line) <= _WIDTH:
        return [line]
    return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def _without_comments(text: str) -> str:
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def _generator(model: type[Model], filling: Filling | None) -> str:
    if filling is None:
        return ""
    lines = ["@edna.register", f"class Nobody{model.__name__ if model.__name__ != 'User' else ''}(Pseudoprincipal):"]
    lines += [
        '    """Whom rows belong to that stay when their owner has left."""',
        "",
        f"    model = {written_model(model)}",
    ]
    for name in filling.undecided:
        target: Any = model._meta.get_field(name).related_model
        lines += _comment(
            f"Decide: {name} needs a row of {target._meta.label}. "
            f'Add "{name}": placeholders.row({target.__name__}, ...) with what tells which.'
        )
    if filling.values:
        lines += _exploded(f"values = {_written(filling.values)}", indent=4, comma="", at_once=True)
    if filling.companions:
        lines += _comment("Decide: which of these do pages need beside every user? None: no page does.")
        companions = {written_model(each): _written(values) for each, values in filling.companions.items()}
        lines += _exploded(
            "companions = {" + ", ".join(f"{each}: {code}" for each, code in companions.items()) + "}",
            indent=4,
            comma="",
        )
    return "\n".join(lines) + "\n"


def _written(values: dict[str, str] | None) -> str:
    return "None" if values is None else "{" + ", ".join(f'"{name}": {code}' for name, code in values.items()) + "}"


def _class_name(name: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[_-]", name.rpartition(".")[2]))


def _disguise(draft: Draft, class_name: str) -> str:
    gone = "Remove the account, and all that goes with it" if _removes_account(draft) else "Remove what is theirs here"
    lines = ["@edna.register", f"class {class_name}(Disguise):", f'    """{gone}; the person may return."""', ""]
    lines += [f'    name = "{draft.name}"', "    transformations = ["]
    said: set[str] = set()
    for label, steps in _by_application(draft):
        lines.append(f"        # --- {label}")
        for step in steps:
            for paragraph in comments_on(draft, step):
                again = paragraph in said and paragraph.startswith("Decide:")
                lines += _comment("Decide: as above." if again else paragraph, indent=8)
                said.add(paragraph)
            lines += _exploded(written_step(step), indent=8)
    lines.append("    ]")
    for question, below in _questions(draft):
        lines += [*_comment(question), *below]
    for message in check_disguise(draft.as_disguise())[0]:
        lines += _comment(f"Decide: {message.msg} ({message.id})")
    return "\n".join(lines) + "\n"


def _questions(draft: Draft) -> Iterator[tuple[str, list[str]]]:
    """What only a person can decide, each with the lines below it that say of which tables."""
    if draft.emptied:
        below = [line for each in draft.emptied for line in _comment(what_stays(draft, each), hanging=2)]
        yield (
            "Nothing to write for these: their rows stay, and the reference is emptied. Decide: does what they "
            "keep say whose they were?",
            below,
        )
    if further := behind(draft):
        yield (
            "Decide: rows of the account refer to these, and nothing leads from there to it. They stay with what "
            "they keep. A Modify along the way back replaces it (one_owner=True, if no two people share one).",
            _listed(further),
        )
    removes = _removes_account(draft)
    if removes and (tied := beside(draft)):
        yield (
            "Decide: a table in between ties these to people. They stay, with what they keep, and that may name "
            "whoever leaves. A Modify along it replaces that, owner=one of the names below: it goes with the "
            "first of them who leaves, and comes back with the last.",
            _listed(tied),
        )
    if guests := without_account(draft):
        yield (
            "Decide: these rows may have no account, and still name somebody. If whoever has that in their "
            "account is meant, add:",
            _pasted(guests),
        )
    if removes and (served := of_others_than_who_serves(draft)):
        yield (
            "Decide: in these rows somebody deals with what another one has sent in, whom no key names. If "
            "whoever has that in their account is meant, add:",
            _pasted(served),
        )
    if removes and (unowned := by_name_alone(draft)):
        yield (
            "Decide: no key ties these to a person, but they look as if they named people. If they do, add what "
            'stands below each; or another step with owner=edna.by_value("column", "column of the account").',
            _pasted(unowned),
        )
    if removes and (lists := in_lists(draft)):
        yield (
            "Decide: several people may stand in each of these, by their addresses. If they do, add what stands "
            "below it: of a list, each has their own element alone.",
            _pasted(lists),
        )
    if given_up := acceptable(draft):
        together = any(isinstance(step, Remove) and len(step.owners) > 1 for step in draft.steps)
        others = (
            " (A row that went with the last of several owners is not given up for the others.)" if together else ""
        )
        rows = [f"    #     {json.dumps(label)}: {json.dumps(reasons)}," for label, reasons in given_up.items()]
        yield (
            "Decide: your site may delete these rows, or what they refer to, while the person is away. What was "
            f"to come back into them is held then, each time, until the person gives it up.{others} Of which is "
            "that meant? Then nobody is asked:",
            ["    # accepts = {", *rows, "    # }"],
        )


def _listed(found: Mapping[type[Model], tuple[Iterable[str], Iterable[str]]]) -> list[str]:
    """Each table with the names that lead to it, and what it keeps."""
    texts = [
        f"{model._meta.label} (by {', '.join(names)}); keeps {', '.join(kept)}"
        for model, (names, kept) in found.items()
    ]
    return [line for text in texts for line in _comment(text, hanging=2)]


def _pasted(found: Iterable[Named]) -> list[str]:
    """What each table says, and the steps with the lines that import their models, to paste."""
    return [line for each in found for line in _one_pasted(each)]


def _one_pasted(named: Named) -> list[str]:
    lines = _comment(f"{named.model._meta.label} ({', '.join(named.columns)})", hanging=2)
    imports: list[str] = []
    steps: list[str] = []
    for each in named.steps:
        step = written_step(each)
        imports += [written_import(each.model), *_imports_of(step)]
        steps += _exploded(step, indent=_PASTED)
    code = [*dict.fromkeys(imports), *steps]
    return lines + [f"    #       {line.removeprefix(' ' * _PASTED)}" for line in code]


def _imports_of(step: str) -> list[str]:
    """What a step needs that may not be imported by the draft."""
    words = [word for word in ("Modify", "placeholders") if re.search(rf"\b{word}\b", step)]
    found = [f"from edna import {', '.join(words)}"] if words else []
    return [*found, "from django.db.models import Q"] if "where=Q(" in step else found


def _removes_account(draft: Draft) -> bool:
    return any(isinstance(step, Remove) and not step.owners for step in draft.steps)


def _by_application(draft: Draft) -> list[tuple[str, list[Step]]]:
    """In the order of the applications; the account last of all."""
    order = [config.label for config in apps.get_app_configs()]
    found: dict[str, list[Step]] = {}
    last: list[Step] = []
    for step in sorted(draft.steps, key=_sort_key):
        if isinstance(step, Remove) and not step.owners:
            last.append(step)
        else:
            found.setdefault(step.model._meta.app_label, []).append(step)
    sections = sorted(found.items(), key=lambda section: order.index(section[0]))
    return [*sections, *([("the account", last)] if last else [])]


def _sort_key(step: Step) -> tuple[str, str, int, str]:
    owner, field = hidden_in(step.model)
    arguments = written_arguments(step)
    return (
        owner.__name__,
        field,
        ("Remove", "Decorrelate", "Modify", "Keep").index(type(step).__name__),
        " ".join(arguments),
    )


def _comment(text: str, *, indent: int = 4, hanging: int = 0) -> list[str]:
    lead = " " * indent + "# " + " " * hanging
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=lead,
        subsequent_indent=lead + " " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _exploded(text: str, *, indent: int, comma: str = ",", at_once: bool = False) -> list[str]:
    """One line if it fits; otherwise what is in its last brackets on lines of their own."""
    line = " " * indent + text + comma
    opening = _opening(text)
    if opening is None or (len(line) <= _WIDTH and not at_once):
        return [line]
    inner = [part for item in _items(text[opening + 1 : -1]) for part in _exploded(item, indent=indent + 4)]
    return [" " * indent + text[: opening + 1], *inner, " " * indent + text[-1] + comma]


def _opening(text: str) -> int | None:
    """Where the bracket opens that the text ends with."""
    pairs = _pairs(text)
    return next((start for start, end in pairs if end == len(text) - 1), None)


def _pairs(text: str) -> list[tuple[int, int]]:
    pairs, open_at = [], []
    quoted = False
    for place, letter in enumerate(text):
        if letter == '"' and text[place - 1 : place] != "\\":
            quoted = not quoted
        elif not quoted and letter in _BRACKETS:
            open_at.append(place)
        elif not quoted and letter in _BRACKETS.values():
            pairs.append((open_at.pop(), place))
    return pairs


def _items(text: str) -> list[str]:
    """What commas separate, outside of brackets and texts."""
    inside = [range(start, end) for start, end in _pairs(text)]
    items, begin, quoted = [], 0, False
    for place, letter in enumerate(text):
        if letter == '"' and text[place - 1 : place] != "\\":
            quoted = not quoted
        elif letter == "," and not quoted and not any(place in part for part in inside):
            items.append(text[begin:place].strip())
            begin = place + 1
    return [*items, text[begin:].strip()]
