"""Which disguises and pseudoprincipal generators the project has.

Filled at start-up by ``@edna.register`` in each application's ``disguises`` module, as Django's admin is. Read-only after
that. Knows classes; never looks into a database, though it says in which one somebody is.
A little long: whose row it is and where it is are asked together.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, TypeVar

from django.apps import apps
from django.contrib.auth.models import AbstractUser
from django.db import router
from django.db.models import ForeignKey, Model

from edna import conf, coverage, placeholders, shards, value_owners
from edna.errors import DatabaseNotChosen, PrincipalError, SpecError, UnknownDisguise
from edna.spec import Disguise, Pseudoprincipal, Remove, validated_name
from edna.value_owners import is_by_value

_disguises: dict[str, type[Disguise]] = {}
_pseudoprincipals: dict[str, type[Pseudoprincipal]] = {}
#: Kept apart: they have no transformations, so neither the checks nor `edna.disguise` can do anything with them.
_by_hand: dict[str, type[ByHand]] = {}

Registered = TypeVar("Registered", bound=type[Disguise] | type[Pseudoprincipal])
Callback = TypeVar("Callback", bound=Callable[..., Any])


class ByHand(Disguise):
    """What `on_reveal` registers: a disguise whose steps are code, and the function that a reveal calls."""

    callback: ClassVar[Callable[..., Any]]
    #: On which terms rows of these models come back, whoever removed them in a session.
    returning: ClassVar[Mapping[type[Model], Any]] = {}

    @classmethod
    def removals(cls) -> list[Remove]:
        return [Remove(model, returning=said) for model, said in cls.returning.items()]


def register(cls: Registered) -> Registered:
    """Class decorator that makes a disguise or a pseudoprincipal generator known.

    Raises:
        SpecError: the class is neither, its name is not usable, or another class has that name.
    """
    if issubclass(cls, Disguise):
        name = validated_name(getattr(cls, "name", None))
        _require_free(name, _source(cls))
        _disguises[name] = cls
    elif issubclass(cls, Pseudoprincipal):
        _pseudoprincipals[cls.model._meta.label_lower] = cls
    else:
        raise SpecError(f"@edna.register takes a Disguise or a Pseudoprincipal, not {cls!r}.")
    return cls


def on_reveal(
    name: str,
    *,
    pseudoprincipal: type[Pseudoprincipal] | None = None,
    references: Mapping[str, str] | None = None,
    locators: str | None = None,
    returning: Mapping[type[Model], Any] | None = None,
    accepts: Mapping[str, Collection[str]] | None = None,
) -> Callable[[Callback], Callback]:
    """Decorator that gives a name to what `edna.session` does by hand, and says what a reveal of it calls.

    The function gets one argument, an `edna.Revealed`. The options mean what they mean for a `Disguise`; ``returning`` maps models to what
    ``Remove(model, returning=...)`` takes.

    Raises:
        SpecError: the name is not usable, or something else has it.
    """
    validated_name(name)

    def decorate(callback: Callback) -> Callback:
        _require_free(name, _source(callback))
        words = {"name": name, "pseudoprincipal": pseudoprincipal, "locators": locators, "references": references or {}}
        terms = {"returning": returning or {}, "accepts": accepts or {}}
        module, _, qualified = _source(callback).rpartition(".")
        place = {"__module__": module, "__qualname__": qualified}
        _by_hand[name] = type("ByHand", (ByHand,), {**words, **terms, **place, "callback": staticmethod(callback)})
        return callback

    return decorate


def unregister(what: type[Disguise] | type[Pseudoprincipal] | Callable[..., Any]) -> None:
    """Undo `register` or `on_reveal`: for tests and for projects that replace an application's disguise by their own."""
    for known in (_disguises, _pseudoprincipals, _by_hand):
        for name, registered in list(known.items()):
            if what in (registered, getattr(registered, "callback", None)):
                del known[name]


def _require_free(name: str, source: str) -> None:
    """
    Raises:
        SpecError: something that was written elsewhere has this name. A module that is imported again does no harm.
    """
    taken = [_source(cls) for cls in (_disguises.get(name),) if cls is not None]
    taken += [_source(cls.callback) for cls in (_by_hand.get(name),) if cls is not None]
    if taken and taken != [source]:
        raise SpecError(f"Two disguises are called {name!r}: {taken[0]} and {source}. Rename one.")


def _source(what: Any) -> str:
    named = what if hasattr(what, "__qualname__") else type(what)
    return f"{named.__module__}.{named.__qualname__}"


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
        if name in _by_hand:
            raise UnknownDisguise(f"{name!r} is done by hand, with edna.session; it has no transformations.") from None
        known = ", ".join(sorted(_disguises)) or "none"
        raise UnknownDisguise(f"No disguise is called {name!r}. Registered: {known}.") from None


def by_hand(name: str) -> type[ByHand]:
    """
    Raises:
        UnknownDisguise: no `on_reveal` names it.
    """
    try:
        return _by_hand[name]
    except KeyError:
        known = ", ".join(sorted(_by_hand)) or "none"
        raise UnknownDisguise(
            f"No @edna.on_reveal({name!r}) says what a reveal has to do. Registered: {known}."
        ) from None


def all_by_hand() -> dict[str, type[ByHand]]:
    return dict(sorted(_by_hand.items()))


def find(name: str) -> type[Disguise] | None:
    """What is registered under a name, by class or by hand; None where its code is gone."""
    return _disguises.get(name) or _by_hand.get(name)


def locator_modes() -> set[str]:
    """The modes that disguises ask for by themselves, by class or by hand."""
    return {cls.locators for cls in (*_disguises.values(), *_by_hand.values()) if cls.locators is not None}


def any_unlisted() -> bool:
    """Whether bags may be known by their receipts alone: in no list on the server."""
    return "client" in {conf.locator_mode(), *locator_modes()}


def principal_models() -> list[type[Model]]:
    return [apps.get_model(label) for label in conf.principal_models()]


def database(model: type[Model] | None = None) -> str:
    """Where the principals are, and with them edna's own tables and what they own, such as ``model``: of several databases the one at work.

    Raises:
        DatabaseNotChosen: none is.
    """
    several = conf.databases()
    if not several:
        return router.db_for_write(principal_models()[0] if model is None else model)
    if (at_work := shards.at_work.get()) is not None:
        return at_work
    raise DatabaseNotChosen(
        f"The people of this site are in {shards.listed(several)}, and nothing says in which of them this is to be done. Nothing was done; "
        'give a command --database, or call it in the block of `with edna.on("...")`.'
    )


def databases() -> tuple[str, ...]:
    """All of them, or the one that is at work."""
    several = conf.databases()
    return several if several and shards.at_work.get() is None else (database(),)


def database_of(row: Model, model: type[Model]) -> str:
    """Where a row is: a person's, say, and with it what belongs to them. ``model`` is whose table it is in.

    Raises:
        PrincipalError: in none that is configured: who is there is not one of those people.
    """
    several = conf.databases()
    if not several:
        return router.db_for_write(model)  # not with the row: it may have been read from a replica
    using = router.db_for_write(model, instance=row)
    if using not in several:
        known = shards.listed(several)
        raise PrincipalError(
            f'This {model._meta.label} is in {using!r}, which is not among EDNA["DATABASES"] ({known}). Nothing was done.'
        )
    return using


def principal_model_of(instance: Model) -> type[Model]:
    """The configured principal model that ``instance`` is a row of (proxies and multi-table children count as what they extend).

    Raises:
        PrincipalError: its model is not among ``EDNA["PRINCIPAL_MODELS"]``.
    """
    if not isinstance(instance, Model):
        raise PrincipalError(
            f"A principal is a row of {_known_models()}; this is a {type(instance).__name__}. Pass the user, not a name or a key."
        )
    concrete = _as_principal(instance._meta.model)
    for model in principal_models():
        if concrete is model._meta.concrete_model:
            return model
    raise PrincipalError(f'{instance._meta.label} is no principal model. EDNA["PRINCIPAL_MODELS"]: {_known_models()}.')


def _known_models() -> str:
    return ", ".join(conf.principal_models())


def is_in_no_database(principal: Model) -> bool:
    """Whether somebody is where nobody of these people is, on a site with several databases: an operator, say."""
    several = conf.databases()
    return bool(several) and router.db_for_write(principal_model_of(principal), instance=principal) not in several


def home_of(principal: Model) -> tuple[type[Model], Any, str]:
    """The principal model of a person, their primary key there, and the database.

    Raises:
        PrincipalError: not of a principal model, not saved, or in none of the databases of people.
    """
    model = principal_model_of(principal)
    # Not its own primary key: a multi-table child may have another one.
    key = getattr(principal, model._meta.pk.attname)
    if key is None:
        raise PrincipalError(f"This {model._meta.label} is not saved yet; save it first.")
    return model, key, database_of(principal, model)


def principal_model_for(disguise: type[Disguise]) -> type[Model]:
    """The principal model that a disguise works on.

    Raises:
        SpecError: its transformations lead to none, or to several.
    """
    return _principal_model_for(disguise, tuple(conf.principal_models()))  # type: ignore[arg-type]  # classes are hashable


def removes_account(disguise: type[Disguise]) -> bool:
    """Whether the rows of the principals whom a disguise is for go with it.

    Raises:
        SpecError: as `principal_model_for`.
    """
    principals = principal_model_for(disguise)
    return any(coverage.same_table(model, principals) for model in coverage.removed_models(disguise))


@functools.lru_cache(maxsize=256)
def _principal_model_for(disguise: type[Disguise], configured: tuple[str, ...]) -> type[Model]:
    reached = {
        _as_principal(owner_target(step.model, owner)) for step in disguise.steps() for owner in step.owners or (None,)
    }
    models = [model for model in principal_models() if model._meta.concrete_model in reached]
    if len(reached) != 1 or len(models) != 1:
        labels = ", ".join(sorted(model._meta.label for model in reached if model)) or "nothing"
        raise SpecError(
            f"{disguise.name}: its owners lead to {labels}; every owner must lead to one of the principal models "
            f"{', '.join(configured)}."
        )
    return models[0]


def owner_target(model: type[Model], owner: str | None) -> type[Model]:
    """The model that an owner path ends at; the model itself without a path."""
    for name in owner.split("__") if owner else ():
        if is_by_value(name):
            return value_owners.principal_of(name, principal_models())
        related = model._meta.get_field(name).related_model
        if related is None or isinstance(related, str):
            raise SpecError(f"{model._meta.label}.{name} is no foreign key, so it cannot lead to an owner.")
        model = related
    return model


def owner_key(model: type[Model], owner: str | None, *, principal: type[Model]) -> str:
    """The path from ``model`` to the primary key of the principal whom ``owner`` leads to, by which principals are compared.

    That is ``owner`` itself, unless the foreign key refers to another column, or leads to a multi-table child of the principal.
    """
    key = principal._meta.pk.name
    if owner is not None and is_by_value(owner):
        return value_owners.with_principal(owner, principal)
    target = owner_target(model, owner)
    if owner is None:
        return "pk" if target._meta.concrete_model is principal._meta.concrete_model else key
    last = owner_target(model, owner.rpartition("__")[0] or None)._meta.get_field(owner.rpartition("__")[2])
    direct = target._meta.concrete_model is principal._meta.concrete_model and (
        not isinstance(last, ForeignKey) or last.target_field.primary_key
    )
    return owner if direct else f"{owner}__{key}"


def _as_principal(model: type[Model]) -> type[Model] | None:
    """The table of principals that ``model`` is, or is a multi-table child of; otherwise ``model``'s own."""
    concrete = model._meta.concrete_model
    tables = [principal._meta.concrete_model for principal in principal_models()]
    if concrete not in tables:
        for parent in model._meta.get_parent_list():
            if parent._meta.concrete_model in tables:
                return parent._meta.concrete_model
    return concrete


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


def generators() -> list[type[Pseudoprincipal]]:
    """Everything that says how placeholder users are filled."""
    own = [cls.pseudoprincipal for cls in (*_disguises.values(), *_by_hand.values()) if cls.pseudoprincipal is not None]
    return [*_pseudoprincipals.values(), *own]


class StockUser(Pseudoprincipal):
    """The default for ``django.contrib.auth``'s user and models built on `AbstractUser`."""

    values = {
        "username": placeholders.random_name(),
        "email": placeholders.random_email(),
        "password": placeholders.unusable_password(),
        "is_active": False,
        "is_staff": False,
        "is_superuser": False,
    }
