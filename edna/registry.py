"""Which disguises and pseudoprincipal generators the project has.

Filled at start-up by ``@edna.register`` in each application's ``disguises`` module, as Django's admin is. Read-only after
that. Knows classes; never looks into a database.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.apps import apps
from django.contrib.auth.models import AbstractUser
from django.db.models import Model

from edna import conf, placeholders
from edna.errors import PrincipalError, SpecError, UnknownDisguise
from edna.spec import Disguise, Pseudoprincipal, validated_name

_disguises: dict[str, type[Disguise]] = {}
_pseudoprincipals: dict[str, type[Pseudoprincipal]] = {}

Registered = TypeVar("Registered", bound=type[Disguise] | type[Pseudoprincipal])


def register(cls: Registered) -> Registered:
    """Class decorator that makes a disguise or a pseudoprincipal generator known.

    Raises:
        SpecError: the class is neither, its name is not usable, or another class has that name.
    """
    if issubclass(cls, Disguise):
        name = validated_name(getattr(cls, "name", None))
        if _source(_disguises.get(name, cls)) != _source(cls):
            raise SpecError(
                f"Two disguises are called {name!r}: {_source(_disguises[name])} and {_source(cls)}. Rename one."
            )
        _disguises[name] = cls
    elif issubclass(cls, Pseudoprincipal):
        _pseudoprincipals[cls.model._meta.label_lower] = cls
    else:
        raise SpecError(f"@edna.register takes a Disguise or a Pseudoprincipal, not {cls!r}.")
    return cls


def unregister(cls: type[Disguise] | type[Pseudoprincipal]) -> None:
    """Undo `register`: for tests and for projects that replace an application's disguise by their own."""
    known: dict[str, Any] = _disguises if issubclass(cls, Disguise) else _pseudoprincipals
    for name in [name for name, registered in known.items() if registered is cls]:
        del known[name]


def _source(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def disguises() -> dict[str, type[Disguise]]:
    return dict(sorted(_disguises.items()))


def get(name: str) -> type[Disguise]:
    """
    Raises:
        UnknownDisguise: nothing is registered under that name.
    """
    try:
        return _disguises[name]
    except KeyError:
        known = ", ".join(sorted(_disguises)) or "none"
        raise UnknownDisguise(f"No disguise is called {name!r}. Registered: {known}.") from None


def principal_models() -> list[type[Model]]:
    return [apps.get_model(label) for label in conf.principal_models()]


def principal_model_of(instance: Model) -> type[Model]:
    """The configured principal model that ``instance`` is a row of (proxies count as their concrete model).

    Raises:
        PrincipalError: its model is not among ``EDNA["PRINCIPAL_MODELS"]``.
    """
    for model in principal_models():
        if instance._meta.concrete_model is model._meta.concrete_model:
            return model
    known = ", ".join(conf.principal_models())
    raise PrincipalError(f'{instance._meta.label} is no principal model. EDNA["PRINCIPAL_MODELS"]: {known}.')


def principal_model_for(disguise: type[Disguise]) -> type[Model]:
    """The principal model that a disguise works on.

    Raises:
        SpecError: its transformations lead to none, or to several.
    """
    found = {owner_target(step.model, step.owner)._meta.concrete_model for step in disguise.steps()}
    models = [model for model in principal_models() if model._meta.concrete_model in found]
    if len(found) != 1 or len(models) != 1:
        labels = ", ".join(sorted(model._meta.label for model in found if model)) or "nothing"
        raise SpecError(
            f"{disguise.name}: its owners lead to {labels}; every owner must lead to one of the principal models "
            f"{', '.join(conf.principal_models())}."
        )
    return models[0]


def owner_target(model: type[Model], owner: str | None) -> type[Model]:
    """The model that an owner path ends at; the model itself without a path."""
    for name in owner.split("__") if owner else ():
        related = model._meta.get_field(name).related_model
        if related is None or isinstance(related, str):
            raise SpecError(f"{model._meta.label}.{name} is no foreign key, so it cannot lead to an owner.")
        model = related
    return model


def pseudoprincipal_for(disguise: type[Disguise], model: type[Model]) -> type[Pseudoprincipal]:
    """The generator for ``model``: the disguise's own, the registered one, or the default for Django's stock user.

    Raises:
        SpecError: there is none.
    """
    generator = disguise.pseudoprincipal or _pseudoprincipals.get(model._meta.label_lower)
    if generator is None and issubclass(model, AbstractUser):
        generator = StockUser
    if generator is None:
        raise SpecError(
            f"{disguise.name} needs placeholder users of {model._meta.label}, and nothing says how to fill them: "
            "register an edna.Pseudoprincipal for that model."
        )
    return generator


class StockUser(Pseudoprincipal):
    """The default for ``django.contrib.auth``'s user and models built on `AbstractUser`."""

    values = {
        "username": placeholders.random_string(),
        "email": placeholders.random_email(),
        "password": placeholders.unusable_password(),
        "is_active": False,
        "is_staff": False,
        "is_superuser": False,
    }
