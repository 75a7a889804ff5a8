"""URL patterns, and what models call their own address, tried with the key of a pseudoprincipal."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import include, path, re_path, reverse
from django.views.generic import DetailView

from edna import Decorrelate
from tests.unit.checks_app.models import Card, Comment, Person, Post, Wallet
from tests.unit.test_checks import Nobody, Run, ids, message, run, spec  # noqa: F401 - `run` is a fixture

COMMENTS = Decorrelate(Comment, "author")


def page(request: Any, **_: Any) -> HttpResponse:
    return HttpResponse()


class PersonPage(DetailView):  # type: ignore[type-arg]
    model = Person


class PostPage(DetailView):  # type: ignore[type-arg]
    model = Post


def serve(settings: Any, *patterns: Any) -> None:
    urls = ModuleType("urls")
    urls.urlpatterns = list(patterns)  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = urls


@pytest.mark.parametrize(
    "pattern",
    [
        path("members/<int:pk>/", page, name="member"),
        path("whatever/<int:person_id>/", page),
        path("by/<int:author>/", page),
        path("whatever/<int:pk>/", PersonPage.as_view()),
        re_path(r"^profile/(?P<pk>[0-9]+)/$", page),
        re_path(r"^users?/(\d+)/(?:posts/)?$", page),
        re_path(r"^users/(?P<user_id>(?:[0-9]|[)]{2})+)/$", page),
        path("users/<int:pk>/", include([path("posts/", page)])),
        path("a/", include([path("b/<int:user_pk>/", page)])),
    ],
    ids=str,
)
def test_a_pattern_that_takes_an_ordinary_key_only(pattern: Any, run: Run, settings: Any) -> None:  # noqa: F811
    serve(settings, pattern)
    found = message(run(Nobody, spec(COMMENTS)), "W321")
    assert '"random"' in str(found.hint)
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": "random"}
    assert "W321" not in ids(run())


@pytest.mark.parametrize(
    "pattern",
    [
        path("posts/<int:pk>/", page),
        path("users/<int:pk>/", PostPage.as_view()),
        path("users/<str:name>/", page),
        re_path(r"^users/(?P<pk>-?[0-9]+)/$", page),
        path("users/<uuid:pk>/", page),  # takes no key of theirs at all
        path("users/", page),
    ],
    ids=str,
)
def test_a_pattern_that_is_not_about_users_or_takes_any_key(pattern: Any, run: Run, settings: Any) -> None:  # noqa: F811
    serve(settings, pattern)
    assert "W321" not in ids(run(Nobody, spec(COMMENTS)))


def test_a_pattern_with_room_for_few_digits(run: Run, settings: Any) -> None:  # noqa: F811
    serve(settings, re_path(r"^users/(?P<pk>[0-9]{1,9})/$", page))
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": "random"}
    assert "16 digits" in str(message(run(Nobody, spec(COMMENTS)), "W321").hint)


def test_several_are_one_warning(run: Run, settings: Any) -> None:  # noqa: F811
    serve(settings, *[path(f"users/{number}/<int:pk>/", page, name=f"n{number}") for number in range(7)])
    assert "users/3/<int:pk>/ (n3) and 3 more" in message(run(Nobody, spec(COMMENTS)), "W321").msg


def test_urls_of_companions(run: Run, settings: Any) -> None:  # noqa: F811
    """By the key of the companion, which may be that of its pseudoprincipal."""
    serve(settings, path("wallets/<int:pk>/", page))
    assert "W321" not in ids(run(Nobody, spec(COMMENTS)))
    with_wallet = type("WithWallet", (Nobody,), {"companions": {Wallet: {}, Card: None}})
    assert "checks_app.Wallet" in message(run(with_wallet), "W321").msg


@pytest.mark.parametrize(
    ("address", "fires"),
    [
        (lambda person: reverse("page", args=[person.pk]), True),
        (lambda person: reverse("page", args=[abs(person.pk)]), False),
        (lambda person: reverse("nothing"), False),  # of nobody
        (lambda person: reverse("page", args=[person.manager.pk]), False),  # only the database knows
        (lambda person: reverse("page", args=[Person.objects.get().pk]), False),
    ],
)
def test_what_a_model_calls_its_own_address(
    address: Any,
    fires: bool,
    run: Run,  # noqa: F811
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Person, "get_absolute_url", address, raising=False)
    serve(settings, path("page/<int:number>/", page, name="page"))
    found = run(Nobody, spec(COMMENTS))
    assert ("W321" in ids(found)) is fires
    if fires:
        assert "Person.get_absolute_url()" in message(found, "W321").msg
