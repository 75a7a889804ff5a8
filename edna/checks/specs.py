"""Checks of the registered disguises: each is proved as a whole before it is applied for the first time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.apps import apps
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import FieldDoesNotExist
from django.db.models import ForeignKey, Model

from edna import api, registry
from edna.checks.overlaps import (
    done_at_once_alone,
    given_away_before,
    goes_with_the_first,
    never_cut,
    twice_changed,
    when_all_have_left,
)
from edna.checks.pseudoprincipals.companions import check_companions, check_given_away
from edna.checks.pseudoprincipals.generators import (
    check_generator,
    check_primary_key,
    find_generator,
    needs_pseudoprincipals,
)
from edna.checks.pseudoprincipals.sharing import check_together
from edna.checks.pseudoprincipals.urls import check_urls
from edna.checks.relations import check_relations
from edna.checks.settings import principal_models
from edna.checks.steps import check_step, is_table, name_of, params_in, refers_to_principal, usable_steps
from edna.checks.terms import check_returning
from edna.checks.value_owners import check_elements, check_pseudoprincipals, check_shared
from edna.coverage import one_each
from edna.errors import InvalidParameters, SpecError
from edna.spec import PARAMETER_TYPES, TRANSFORMATIONS, Disguise, Keep, Pseudoprincipal, validated_params

_APPLIES_TO: Final = ("self", "staff")
_LOCATORS: Final = (None, "server", "client")
_ACCEPTABLE: Final = {str(reason) for reason in api.Reason if reason.can_be_accepted}
_POLICIES: Final = ("restore", "delete", "retain")
#: What a disguise may declare that an optional application does.
_BY_APPLICATIONS: Final = {
    "policy": ("edna.policies", "edna.E066"),
    "audience": ("edna.audiences", "edna.E067"),
}


def check_disguises(**_: Any) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    generators: dict[tuple[type[Pseudoprincipal], type[Model]], None] = {}
    decorrelated: dict[type[Model], None] = {}
    for disguise in registry.disguises().values():
        problems, principal = check_disguise(disguise)
        messages += problems
        if principal is not None and needs_pseudoprincipals(disguise):
            decorrelated[principal] = None
            generator, problems = find_generator(disguise, principal)
            messages += problems
            if generator is not None:
                generators[generator, principal] = None
                messages += check_given_away(disguise, generator, principal)
    principals = principal_models()
    for disguise in registry.all_by_hand().values() if principals else ():
        messages += [*_options(disguise), *_accepts(disguise), *check_returning(disguise)]
        if disguise.pseudoprincipal is not None:
            model = getattr(disguise.pseudoprincipal, "model", None)
            generator, problems = find_generator(disguise, model if model in principals else principals[0])
            messages += problems
            if generator is not None and model is not None:
                generators[generator, model] = None
    # A generator serves many disguises: what is wrong with it is said once.
    for pair in generators:
        messages += [*check_generator(*pair), *check_companions(*pair), *check_pseudoprincipals(*pair)]
    messages += check_urls(generators)
    for model in decorrelated:
        messages += check_primary_key(model)
    return messages


def check_disguise(disguise: type[Disguise]) -> tuple[list[CheckMessage], type[Model] | None]:
    """All that its own words tell about one disguise, and its principal model if that is clear."""
    found: list[CheckMessage] = [*_shape(disguise), *_params(disguise), *_options(disguise), *_accepts(disguise)]
    found += [*_missing_applications(disguise), *_audience_without(disguise)]
    if any(message.id in ("edna.E100", "edna.E101") for message in found) or not principal_models():
        return found, None
    steps = usable_steps(disguise)
    for step in steps:
        found += check_step(disguise, step)
    found += [
        *_unused_params(disguise),
        *check_together(disguise),
        *twice_changed(disguise),
        *check_shared(disguise, steps),
        *check_elements(disguise, steps),
        *when_all_have_left(disguise),
        *goes_with_the_first(disguise),
        *given_away_before(disguise),
        *done_at_once_alone(disguise),
        *check_relations(disguise),
        *check_returning(disguise),
    ]
    if any(message.id == "edna.E106" for message in found):
        return found, None
    try:
        principal = registry.principal_model_for(disguise)
    except SpecError as error:
        hint = "Let every owner path end at one principal model; a step without owner is about the principal's own row."
        found.append(
            Error(f"{error} Until then it cannot be applied.", hint=hint, obj=name_of(disguise), id="edna.E107")
        )
        return found, None
    if not any(message.is_serious() for message in found):
        found += never_cut(disguise)
    return found, principal


def _missing_applications(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    for declared, (application, number) in _BY_APPLICATIONS.items():
        value = getattr(disguise, declared)
        if value is not None and not apps.is_installed(application):
            yield Error(
                f"{declared} is {value!r}, and {application} is not installed: applying it is refused.",
                hint=f'INSTALLED_APPS += ["{application}"]; or take the declaration away.',
                obj=name_of(disguise),
                id=number,
            )


def _audience_without(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    said = disguise.audience_without
    entries = said.items() if isinstance(said, Mapping) else [(said, ())]
    for label, names in entries:
        try:
            there = {field.name for field in apps.get_model(label)._meta.concrete_fields}
            # A text would be taken letter by letter.
            unknown = [names] if isinstance(names, str) else [name for name in names if name not in there]
            problem = f"names {', '.join(map(repr, unknown))}, which {label} has not as columns" if unknown else ""
        except (LookupError, ValueError, TypeError, AttributeError):
            problem = "names no model" if isinstance(said, Mapping) else "is no mapping"
        if problem:
            yield Error(
                f"audience_without{f'[{label!r}]' if isinstance(said, Mapping) else ''} {problem}: members of the audience read what "
                "should have been left out.",
                hint='Write audience_without = {"app.Model": ["field"]}, with names of fields.',
                obj=name_of(disguise),
                id="edna.E128",
            )


def _shape(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    hint = (
        "transformations is a list of Remove(Model, ...), Modify(...), Decorrelate(...), Keep(...), with model classes."
    )
    if not isinstance(disguise.transformations, (list, tuple)) or not disguise.transformations:
        problem = "Has no list of transformations, so that applying it changes nothing."
        yield Error(problem, hint=hint, obj=name_of(disguise), id="edna.E100")
        return
    for step in disguise.transformations:
        if not isinstance(step, (*TRANSFORMATIONS, Keep)):
            problem = f"{step!r} is no transformation: it would be passed over, and data stay readable."
        elif not is_table(step.model):
            problem = (
                f"{type(step).__name__} is given {step.model!r}, which has no table of its own: it cannot be applied."
            )
        else:
            continue
        yield Error(problem, hint=hint, obj=name_of(disguise), id="edna.E100")


def _params(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    allowed = ", ".join(kind.__name__ for kind in PARAMETER_TYPES)
    declared = disguise.params
    if not isinstance(declared, Mapping):
        problems = ["params is no dictionary"]
    else:
        problems = [
            f"the parameter {name!r} is declared as {kind!r}, which is no type that edna takes"
            for name, kind in declared.items()
            if not isinstance(name, str) or kind not in PARAMETER_TYPES
        ]
    for problem in problems:
        yield Error(
            f"{problem[0].upper()}{problem[1:]}: no value can be given, and the disguise cannot be applied.",
            hint=f'Write params = {{"lecture": int}}. Types: {allowed}. There are no default values.',
            obj=name_of(disguise),
            id="edna.E101",
        )


def _unused_params(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    used = {name for step in usable_steps(disguise) if step.where is not None for name in params_in(step.where)}
    for name in sorted(set(disguise.params) - used):
        yield Warning(
            f"The parameter {name!r} must be given but no `where` uses it: the disguise takes all rows, whatever its "
            "value.",
            hint=f'Use Param("{name}") in a `where`, or remove it from params.',
            obj=name_of(disguise),
            id="edna.W101",
        )


def _options(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    for name, value, allowed in (
        ("applies_to", disguise.applies_to, _APPLIES_TO),
        ("locators", disguise.locators, _LOCATORS),
    ):
        if value not in allowed:
            yield Error(
                f"{name} is {value!r}, which means nothing to edna: nobody, or the wrong people, could apply it or "
                "find its bags again.",
                hint=f"Choose one of {', '.join(map(repr, allowed))}.",
                obj=name_of(disguise),
                id="edna.E115",
            )
    if unfit := _self_service_problem(disguise):
        yield Error(
            f"self_service: {unfit}. The pages do not offer it to anybody.",
            hint='Leave it out; or write applies_to = "self", and self_service = True, or the values of all params: {"days": 365}.',
            obj=name_of(disguise),
            id="edna.E127",
        )
    for label, policy in dict(disguise.references).items():
        if problem := _reference_problem(label, policy):
            yield Error(
                f"references[{label!r}] {problem}: the entry is ignored, and a reveal restores such rows to the owner.",
                hint='Write references = {"app.Model.field": "restore"}, "delete" or "retain".',
                obj=name_of(disguise),
                id="edna.E116",
            )
        elif policy == "restore" and _one_each(label):
            yield Warning(
                f'references[{label!r}] is "restore", and nobody has two: what came to a pseudoprincipal cannot go to an owner who has '
                "their own, and every reveal of theirs stays incomplete.",
                hint="Leave it out: then it goes to an owner who has none, and is deleted where they have one.",
                obj=name_of(disguise),
                id="edna.W322",
            )


def _self_service_problem(disguise: type[Disguise]) -> str:
    offered = disguise.self_service
    if isinstance(offered, Mapping):
        try:
            validated_params(disguise, offered)
        except InvalidParameters as error:
            return f"its values are not those of its parameters ({error.args[0].rstrip('.')})"
    elif not isinstance(offered, bool):
        return f"it is {offered!r}"
    elif offered and disguise.params:
        return "it has parameters, and nothing says which values a person would apply it with"
    if offered is not False and disguise.applies_to == "staff":
        return "it is for the staff"
    return ""


def _one_each(label: str) -> bool:
    model_label, _, name = label.rpartition(".")
    field = apps.get_model(model_label)._meta.get_field(name)
    return isinstance(field, ForeignKey) and one_each(field)


def _accepts(disguise: type[Disguise]) -> Iterator[CheckMessage]:
    for label, reasons in dict(disguise.accepts).items():
        try:
            apps.get_model(label)
        except (LookupError, ValueError):
            problem = "names no model"
        else:
            given = [reasons] if isinstance(reasons, str) else list(reasons)
            unknown = [reason for reason in given if isinstance(reasons, str) or reason not in _ACCEPTABLE]
            problem = f"says {', '.join(map(repr, unknown))}" if unknown else ""
        if problem:
            yield Error(
                f"accepts[{label!r}] {problem}: the entry is ignored, and a reveal holds such rows.",
                hint=f'Write accepts = {{"app.Model": ["row_missing"]}}; reasons are {", ".join(sorted(_ACCEPTABLE))}.',
                obj=name_of(disguise),
                id="edna.E119",
            )


def _reference_problem(label: str, policy: str) -> str | None:
    if policy not in _POLICIES:
        return f"is {policy!r}"
    model_label, _, name = label.rpartition(".")
    try:
        field = apps.get_model(model_label)._meta.get_field(name)
    except (LookupError, ValueError, FieldDoesNotExist):
        return "names no field"
    if not refers_to_principal(field) and not _refers_beside_principal(field):
        return "is no foreign key to a principal model, nor to what is beside each principal"
    return None


def _refers_beside_principal(field: Any) -> bool:
    """To rows of which every principal has one at most, such as profiles: what refers to that of a pseudoprincipal is settled, too."""
    target: Any = field.related_model
    if not isinstance(field, ForeignKey) or not is_table(target):
        return False
    links = [each for each in target._meta.local_fields if isinstance(each, ForeignKey) and refers_to_principal(each)]
    return any(one_each(link) for link in links)
