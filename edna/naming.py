"""How models and steps are written in Python: names, where these are imported from, and whose code they are.

Invariant: two models never get the same name. Reads the registry of applications; writes no module.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, Final

from django.apps import apps
from django.db.models import ManyToManyField, Model

from edna import conditions, value_owners
from edna.spec import Decorrelate, Keep, Modify, Remove, Transformation

#: Where installers put what a project did not write.
_INSTALLED: Final = ("/site-packages/", "/dist-packages/")


def written_model(model: type[Model]) -> str:
    """The expression for a model: a hidden many-to-many table has no name of its own."""
    owner, name = hidden_in(model)
    return f"{_name(owner)}.{name}.through" if name else _name(owner)


def hidden_in(model: type[Model]) -> tuple[type[Model], str]:
    """The model that has to be imported, and the many-to-many field behind which ``model`` hides, if it does."""
    owner = model._meta.auto_created
    if isinstance(owner, type):
        for field in owner._meta.many_to_many:
            if isinstance(field, ManyToManyField) and field.remote_field.through is model:
                return owner, field.name
    return model, ""


def _name(model: type[Model]) -> str:
    """Its own, behind that of its application where another one has the same."""
    if len(_namesakes(model)) < 2:
        return model.__name__
    return "".join(part.capitalize() for part in model._meta.app_label.split("_")) + model.__name__


def _namesakes(model: type[Model]) -> list[type[Model]]:
    return [each for each in apps.get_models() if each.__name__ == model.__name__]


def module_of(model: type[Model]) -> str | None:
    """The module to import it from: its application's models, or where it was written; None if it is in neither."""
    models_module = apps.get_app_config(model._meta.app_label).models_module
    candidates = [models_module.__name__] if models_module is not None else []
    for module in (*candidates, model.__module__):
        if getattr(sys.modules.get(module), model.__name__, None) is model:
            return module
    return None


def written_import(model: type[Model]) -> str:
    """The line that makes `written_model` mean the model; of a hidden table, of the model that has it."""
    owner, _ = hidden_in(model)
    name, module = _name(owner), module_of(owner)
    if module is None:  # made by code; disguises are imported when all models are there
        return f'{name} = apps.get_model("{owner._meta.label}")'
    return f"from {module} import {owner.__name__}" + (f" as {name}" if name != owner.__name__ else "")


def import_of_namesake(model: type[Model]) -> str:
    """As `written_import`, where the name alone does not say which model is meant; otherwise nothing."""
    owner, _ = hidden_in(model)
    return written_import(model) if _name(owner) != owner.__name__ else ""


def is_of_others(model: type[Model]) -> bool:
    """Whether the model is of an installed package: a project cannot change it."""
    path = str(getattr(sys.modules.get(model.__module__), "__file__", None) or "").replace("\\", "/")
    return any(folder in path for folder in _INSTALLED)


def written_step(step: Transformation | Keep) -> str:
    return f"{type(step).__name__}({', '.join(written_arguments(step))})"


def written_arguments(step: Transformation | Keep) -> list[str]:
    model = written_model(step.model)
    if isinstance(step, Keep):
        return [model, json.dumps(step.field), *([f"why={written_value(step.why)}"] if step.why else [])]
    arguments = [model]
    if step.owners:
        arguments.append(f"owner={written_names(step.owners)}")
    if isinstance(step, Modify):
        arguments.append(f"set={written_value(dict(step.set))}")
    if isinstance(step, Decorrelate) and step.group_by != ():
        arguments.append(f"group_by={written_value(step.group_by)}")
    if isinstance(step, Decorrelate) and step.together is not None:
        arguments.append(f"together={written_value(step.together)}")
    if step.where is not None:
        arguments.append(f"where={conditions.written(step.where)}")
    if not isinstance(step, Decorrelate) and step.when is not None:
        arguments.append(f"when={step.when!r}")
    if step.one_owner:
        arguments.append("one_owner=True")
    if step.reads_whole_table:
        arguments.append("reads_whole_table=True")
    if isinstance(step, Remove) and step.returning is not None:
        arguments.append(f"returning={written_value(step.returning)}")
    return arguments


def written_names(names: Iterable[str]) -> str:
    """One as text, several as a list."""
    quoted = [value_owners.written(name, named=_name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"[{', '.join(quoted)}]"


def written_value(value: Any) -> str:
    """As `repr`, with the quotation marks that formatters choose."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{written_value(name)}: {written_value(each)}" for name, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(written_value, value)) + "]"
    return repr(value)
