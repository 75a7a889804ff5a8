"""The rate limit in requests: what takes a place, what a refused request has not done, and how it is answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.cache import caches
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template import TemplateDoesNotExist
from django.test import AsyncClient, Client
from django.urls import path

import edna
from apps.websubmit.models import Answer, User
from edna import api, metrics, throttle
from edna.errors import TooBusy
from edna.middleware import EdnaMiddleware
from tests.support import ANONYMISE_ALL, DELETE, PASSWORD, Student, enrol_in_course, nothing_changes, statements
from tests.unit.test_throttle import BROKEN

pytestmark = [pytest.mark.django_db, pytest.mark.once]

View = Callable[..., Any]
NOW = 1_800_000_000.0
BY_HAND = "test.rate-limit"


class Site:
    view: View


site = Site()


def synchronous(request: HttpRequest) -> Any:
    return site.view(request)


async def asynchronous(request: HttpRequest) -> Any:
    return await site.view(request)


urlpatterns = [path("", synchronous), path("async/", asynchronous)]


@pytest.fixture(autouse=True)
def _this_site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ROOT_URLCONF = __name__
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "rate-limit"}
    }
    monkeypatch.setattr(throttle, "_now", lambda: NOW)
    monkeypatch.setattr(throttle, "_ask_again_at", 0.0)
    caches["default"].clear()


@pytest.fixture
def one_a_minute(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 1 / 60}


@pytest.fixture
def full(one_a_minute: None) -> None:
    """Nobody else is let in for a minute."""
    window = int(NOW // 60)
    caches["default"].set(f"edna:requests:{window - 1}", 1)
    caches["default"].set(f"edna:requests:{window}", 1)


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", password=PASSWORD)


@pytest.fixture
def by_hand() -> Iterator[None]:
    function = edna.on_reveal(BY_HAND)(lambda revealed: None)
    yield
    edna.unregister(function)


def taken() -> int:
    return int(caches["default"].get(f"edna:requests:{int(NOW // 60)}", 0))


def get(view: View) -> Any:
    site.view = view
    return Client().get("/")


def aget(view: View) -> Any:
    site.view = view

    async def go() -> Any:
        return await AsyncClient().get("/async/")

    return async_to_sync(go)()


DOOR: dict[str, Callable[[Student, edna.Unlocked, Any], Any]] = {
    "unlock": lambda bea, unlocked, receipt: api.unlock(secret_key=bea.secret_key),
    "register with a password": lambda bea, unlocked, receipt: api.register_principal(
        User.objects.create_user("new@example.org"), password=PASSWORD
    ),
    "change_password": lambda bea, unlocked, receipt: api.change_password(unlocked, identifier="x", password=PASSWORD),
    "new_recovery_code": lambda bea, unlocked, receipt: api.new_recovery_code(unlocked),
    "rotate": lambda bea, unlocked, receipt: api.rotate(unlocked),
    "disguise": lambda bea, unlocked, receipt: api.disguise(DELETE, bea.user),
    "disguise_all": lambda bea, unlocked, receipt: api.disguise_all(ANONYMISE_ALL),
    "session": lambda bea, unlocked, receipt: api.session(bea.user, BY_HAND).__enter__(),
    "reveal": lambda bea, unlocked, receipt: api.reveal(receipt, unlocked),
}


@pytest.mark.usefixtures("by_hand")
@pytest.mark.parametrize("through", DOOR)
class TestWhatTakesAPlace:
    def test_refused_nothing_is_read_or_changed(self, through: str, full: None, bea: Student) -> None:
        receipt = bea.disguise(ANONYMISE_ALL)
        work, refusals = DOOR[through], []

        def view(request: Any) -> HttpResponse:
            try:
                work(bea, unlocked, receipt)
            except TooBusy as refusal:
                refusals.append(refusal.retry_after_seconds)
            return HttpResponse()

        with bea.unlock() as unlocked:
            if "register" in through:
                with mock.patch.object(User.objects, "create_user", return_value=User(email="new@example.org")):
                    sent = statements(lambda: get(view))
            else:
                sent = statements(lambda: get(view))
        assert refusals == [60]
        assert sent == []

    def test_let_in_it_is_one(self, through: str, one_a_minute: None, bea: Student) -> None:
        receipt = bea.disguise(ANONYMISE_ALL)

        def view(request: Any) -> HttpResponse:
            work = DOOR[through](bea, unlocked, receipt)
            if through == "session":
                return HttpResponse()
            edna.history(api.unlock(secret_key=getattr(work, "secret_key", None) or bea.secret_key))
            return HttpResponse()

        with bea.unlock() as unlocked:
            assert get(view).status_code == 200
        assert taken() == 1


class TestWhatDoesNot:
    def test_looking(self, full: None, bea: Student) -> None:
        receipt = bea.disguise(ANONYMISE_ALL)

        def view(request: Any) -> HttpResponse:
            edna.plan(DELETE, bea.user)
            edna.plan_all(ANONYMISE_ALL)
            assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]
            assert edna.is_registered(bea.user)
            edna.speak_as(unlocked, Answer.objects.get(pk=disguised.pk))
            edna.register_principal(User.objects.create_user("carl@example.org"))
            return HttpResponse()

        disguised = Answer.objects.first()
        assert disguised is not None
        with bea.unlock() as unlocked:
            assert get(view).status_code == 200
        assert taken() == 1

    def test_outside_of_a_request(self, full: None, bea: Student) -> None:
        receipt = bea.disguise(DELETE, with_key=True)
        assert bea.reveal(receipt).complete
        assert taken() == 1

    def test_after_a_request(self, full: None, bea: Student) -> None:
        """Whatever happened in it: the next work of this thread belongs to nobody's request."""

        def view(request: Any) -> HttpResponse:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            get(view)
        assert throttle.current.get() is None
        bea.disguise(DELETE)

    def test_without_a_limit_the_cache_is_not_touched(self, bea: Student, settings: Any) -> None:
        settings.CACHES = {}
        assert get(lambda request: request.edna.unlock(secret_key=bea.secret_key) and HttpResponse()).status_code == 200


def asks_for_a_key(bea: Student) -> View:
    return lambda request: request.edna.unlock(identifier=bea.email, password=PASSWORD) and HttpResponse("in")


class TestAnswer:
    def test_no_key_is_derived(self, full: None, bea: Student) -> None:
        with mock.patch("edna.custody.password.derive", side_effect=AssertionError), nothing_changes():
            assert get(asks_for_a_key(bea)).status_code == 429

    def test_of_a_view_that_lets_the_error_go(self, full: None, bea: Student) -> None:
        with mock.patch("django.template.loader.render_to_string", side_effect=_no_template):
            response = get(asks_for_a_key(bea))
        assert response.status_code == 429
        assert response["Retry-After"] == "60"
        assert "no-store" in response["Cache-Control"]
        assert b"<h1>Too many requests</h1>" in response.content
        assert b"try again in 60 seconds" in response.content

    def test_is_the_projects_own_page_if_it_has_one(self, full: None, bea: Student) -> None:
        """The sample site's."""
        response = get(asks_for_a_key(bea))
        assert response.status_code == 429
        assert b"Too busy just now" in response.content
        assert b"try again in 60 seconds" in response.content

    def test_asynchronously(self, one_a_minute: None, bea: Student) -> None:
        async def view(request: Any) -> HttpResponse:
            await request.edna.aunlock(secret_key=bea.secret_key)
            await sync_to_async(api.unlock)(secret_key=bea.secret_key)
            return HttpResponse("in")

        assert [aget(view).status_code for _ in range(3)] == [200, 200, 429]
        refused = aget(view)
        assert refused.status_code == 429
        assert refused["Retry-After"] == "120"  # another one is before them
        assert "no-store" in refused["Cache-Control"]
        assert throttle.current.get() is None

    def test_asynchronous_requests_do_not_mix(self, one_a_minute: None, bea: Student) -> None:
        """Two that take turns in one thread: each is its own."""

        async def go() -> list[int]:
            both = asyncio.Barrier(2)

            async def answer(request: HttpRequest) -> HttpResponse:
                await both.wait()
                asking: Any = throttle.current.get()
                assert asking is request.edna  # type: ignore[attr-defined]
                await both.wait()
                assert throttle.current.get() is asking
                return HttpResponse()

            middleware = EdnaMiddleware(answer)
            requests = [HttpRequest(), HttpRequest()]
            responses = await asyncio.gather(*(middleware(each) for each in requests))
            assert throttle.current.get() is None
            return [response.status_code for response in responses]

        assert async_to_sync(go)() == [200, 200]

    def test_of_a_view_that_shows_it_in_its_form(self, full: None, bea: Student) -> None:
        """Programs are told, and the page is the view's."""

        def view(request: Any) -> HttpResponse:
            try:
                request.edna.unlock(secret_key=bea.secret_key)
            except edna.errors.EdnaError as error:
                return HttpResponse(f"<form>{error}</form>")
            raise AssertionError

        response = get(view)
        assert (response.status_code, response["Retry-After"]) == (429, "60")
        assert response.content.startswith(b"<form>Too many visitors")
        assert "no-store" in response["Cache-Control"]

    def test_of_a_view_that_calls_the_door_itself(self, full: None, bea: Student) -> None:
        def view(request: Any) -> HttpResponse:
            with pytest.raises(TooBusy):
                edna.disguise(DELETE, bea.user)
            return JsonResponse({"error": "busy"})

        response = get(view)
        assert (response.status_code, response["Retry-After"]) == (429, "60")
        assert "no-store" in response["Cache-Control"]

    @pytest.mark.parametrize("status", [201, 204, 302, 403, 503])
    def test_of_a_view_that_wants_another_status(self, status: int, full: None, bea: Student) -> None:
        def view(request: Any) -> HttpResponse:
            with pytest.raises(TooBusy):
                request.edna.unlock(secret_key=bea.secret_key)
            return redirect("/") if status == 302 else HttpResponse(status=status)

        response = get(view)
        assert response.status_code == status
        assert "Retry-After" not in response.headers

    def test_a_view_may_say_when(self, full: None, bea: Student) -> None:
        def view(request: Any) -> HttpResponse:
            with pytest.raises(TooBusy):
                request.edna.unlock(secret_key=bea.secret_key)
            return HttpResponse(status=429, headers={"Retry-After": "600"})

        assert get(view)["Retry-After"] == "600"

    def test_let_in_it_is_the_views(self, one_a_minute: None, bea: Student) -> None:
        response = get(asks_for_a_key(bea))
        assert (response.status_code, response.content) == (200, b"in")
        assert "Retry-After" not in response.headers

    def test_what_the_view_began_is_rolled_back_with_it(self, full: None, bea: Student) -> None:
        def view(request: Any) -> HttpResponse:
            with transaction.atomic():
                user = User.objects.create_user("carl@example.org", PASSWORD)
                edna.register_principal(user, password=PASSWORD)
            raise AssertionError

        with nothing_changes():
            assert get(view).status_code == 429


def _no_template(name: str, *_: Any) -> str:
    raise TemplateDoesNotExist(name)


class TestOperator:
    def test_metrics(self, one_a_minute: None, bea: Student) -> None:
        def found() -> list[float]:
            return [metrics.REQUESTS.labels(result)._value.get() for result in ("admitted", "refused", "uncounted")]

        metrics.connect()
        try:
            before = found()
            for _ in range(5):
                get(asks_for_a_key(bea))
            caches["default"].delete_many([f"edna:requests:{int(NOW // 60)}"])
            with mock.patch.object(type(caches["default"]), "incr", side_effect=OSError):
                get(asks_for_a_key(bea))
        finally:
            metrics.disconnect()
        assert [now - then for now, then in zip(found(), before, strict=True)] == [2, 3, 1]
        assert b'edna_requests_total{result="refused"}' in metrics.page()

    def test_a_cache_that_is_away_keeps_nobody(
        self, one_a_minute: None, bea: Student, settings: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        settings.CACHES = {"default": {"BACKEND": BROKEN}}
        caplog.set_level(logging.WARNING, logger="edna")

        def view(request: Any) -> HttpResponse:
            with request.edna.unlock(identifier=bea.email, password=PASSWORD) as unlocked:
                return HttpResponse(str(edna.disguise(DELETE, bea.user, unlocked=unlocked)))

        assert get(view).status_code == 200
        assert not User.objects.filter(pk=bea.user.pk).exists()
        assert [record.getMessage() for record in caplog.records] == ["requests_not_counted error=ConnectionError"]
        assert "password" not in caplog.text
