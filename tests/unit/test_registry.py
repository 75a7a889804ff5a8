"""The registry: one class per name, found again, and an error that lists the names when it is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import AbstractUser
from django.test import override_settings

import edna
from apps.websubmit.disguises import Anonymous, DeleteAccount
from apps.websubmit.models import Answer, Lecture, User
from edna import Decorrelate, Disguise, Remove, registry
from edna.errors import PrincipalError, SpecError, UnknownDisguise


class Sample(Disguise):
    name = "test.registry"
    transformations = [Decorrelate(Answer, owner="author")]


@pytest.fixture
def sample() -> Iterator[type[Disguise]]:
    edna.register(Sample)
    yield Sample
    edna.unregister(Sample)


def test_websubmit_is_discovered() -> None:
    """The module `disguises` of an installed application is imported at start-up."""
    assert registry.get("websubmit.delete-account") is DeleteAccount


def test_registered_and_unregistered(sample: type[Disguise]) -> None:
    assert registry.get("test.registry") is sample
    assert list(registry.disguises()) == sorted(registry.disguises())
    edna.unregister(sample)
    assert "test.registry" not in registry.disguises()


def resume(revealed: edna.Revealed) -> None:
    """What `edna.on_reveal` registers."""


def test_a_function_is_registered_and_unregistered(sample: type[Disguise]) -> None:
    """It keeps its name to itself; neither the checks nor `edna.disguise` see it among the disguises."""
    assert edna.on_reveal("test.by-hand", locators="client")(resume) is resume
    assert edna.on_reveal("test.by-hand", locators="client")(resume) is resume  # a module that is imported again
    found = registry.by_hand("test.by-hand")
    assert (found.name, found.locators, found.callback) == ("test.by-hand", "client", resume)
    assert registry.find("test.by-hand") is found
    assert registry.find("test.registry") is sample
    assert registry.find("test.nothing") is None
    assert "test.by-hand" not in registry.disguises()
    with pytest.raises(UnknownDisguise, match=r"edna\.session"):
        registry.get("test.by-hand")
    with pytest.raises(UnknownDisguise, match=r"Registered: test\.by-hand"):
        registry.by_hand("test.registry")
    edna.unregister(resume)
    assert registry.find("test.by-hand") is None


def test_a_function_and_a_class_cannot_have_one_name(sample: type[Disguise]) -> None:
    def other(revealed: edna.Revealed) -> None:
        """Another one."""

    for name, error in (("test.registry", "Two disguises"), ("With Space", "no disguise name")):
        with pytest.raises(SpecError, match=error):
            edna.on_reveal(name)(resume)
    edna.on_reveal("test.by-hand")(resume)
    with pytest.raises(SpecError, match="Two disguises"):
        edna.on_reveal("test.by-hand")(other)
    with pytest.raises(SpecError, match="Two disguises"):
        edna.register(type("Other", (Disguise,), {"name": "test.by-hand"}))
    edna.unregister(resume)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownDisguise, match=r"websubmit\.anonymize-all, websubmit\.anonymize-lecture"):
        registry.get("nothing")


def test_two_classes_cannot_have_one_name(sample: type[Disguise]) -> None:
    class Other(Disguise):
        name = "test.registry"

    with pytest.raises(SpecError, match="Two disguises"):
        edna.register(Other)
    assert registry.get("test.registry") is sample


def test_the_same_class_may_be_registered_again(sample: type[Disguise]) -> None:
    """A module that is imported twice or reloaded does no harm."""
    assert edna.register(sample) is sample


@pytest.mark.parametrize("name", [None, "", "With Space"])
def test_a_name_that_is_none_is_refused(name: object) -> None:
    broken = type("Broken", (Disguise,), {} if name is None else {"name": name})
    with pytest.raises(SpecError, match="no disguise name"):
        edna.register(broken)


def test_only_disguises_and_generators_can_be_registered() -> None:
    with pytest.raises(SpecError, match="register takes"):
        edna.register(User)  # type: ignore[type-var]


def test_a_disguise_belongs_to_one_principal_model(sample: type[Disguise]) -> None:
    assert registry.principal_model_for(sample) is User

    class Two(Disguise):
        name = "test.two"
        transformations = [Remove(Answer, owner="author"), Decorrelate(Answer, owner="question__lecture")]

    class Empty(Disguise):
        name = "test.empty"

    class Wrong(Disguise):
        name = "test.wrong"
        transformations = [Remove(Answer, owner="text")]

    for cls in (Two, Empty, Wrong):
        with pytest.raises(SpecError):
            registry.principal_model_for(cls)


def test_what_is_a_principal(sample: type[Disguise]) -> None:
    assert registry.principal_model_of(User()) is User
    with pytest.raises(PrincipalError, match="no principal model"):
        registry.principal_model_of(Lecture())


def test_owner_paths_end_at_a_model() -> None:
    assert registry.owner_target(Answer, "question__lecture") is Lecture
    assert registry.owner_target(User, None) is User


def test_the_generator_of_pseudoprincipals(sample: type[Disguise]) -> None:
    """The disguise's own, then the registered one."""
    assert registry.pseudoprincipal_for(sample, User) is Anonymous

    class Own(edna.Pseudoprincipal):
        model = User

    class WithOwn(Sample):
        name = "test.with-own"
        pseudoprincipal = Own

    assert registry.pseudoprincipal_for(WithOwn, User) is Own


def test_without_a_generator_it_says_what_to_register(sample: type[Disguise]) -> None:
    with pytest.raises(SpecError, match="Pseudoprincipal"):
        registry.pseudoprincipal_for(sample, Lecture)


def test_djangos_stock_user_has_a_default() -> None:
    """Random name and address, no password, neither active nor staff."""
    stock = type("Stock", (), {"_meta": type("Meta", (), {"label_lower": "test.stock", "label": "test.Stock"})})
    kind = type("Kind", (stock, AbstractUser), {"__module__": "tests", "Meta": type("Meta", (), {"abstract": True})})
    values = registry.pseudoprincipal_for(Sample, kind).values
    assert {"username", "email", "password"} <= set(values)
    assert (values["is_active"], values["is_staff"], values["is_superuser"]) == (False, False, False)


def test_principal_models_can_be_configured() -> None:
    with override_settings(EDNA={"PRINCIPAL_MODELS": ["websubmit.Lecture"]}):
        assert registry.principal_models() == [Lecture]
        assert registry.principal_model_of(Lecture()) is Lecture
