"""`request.edna`: keys for the length of a request, acting under disguise, and nobody logged in who is nobody."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync, async_to_sync
from django.contrib.auth import (
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
    aauthenticate,
    alogin,
    alogout,
    authenticate,
    login,
    logout,
)
from django.contrib.auth.backends import BaseBackend
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import AsyncClient, Client
from django.urls import path
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

import edna
from apps.websubmit.disguises import Anonymous
from apps.websubmit.models import Answer, User
from edna import inner_door, visitors
from edna.db.short_values import whole_reference
from edna.engine.pseudoprincipals import factory
from edna.errors import CapabilityClosed, NotYours, WrongCredentials
from edna.middleware import EdnaMiddleware, edna_page
from edna.visitors import attendance
from tests.support import (
    ANONYMISE_ALL,
    PASSWORD,
    Student,
    answer_everything,
    enrol,
    enrol_in_course,
    make_course,
    rows_of,
    statements,
)

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]

View = Callable[..., Any]
MODEL, ANYBODY, REMOTE = (
    f"django.contrib.auth.backends.{name}Backend" for name in ("Model", "AllowAllUsersModel", "RemoteUser")
)
OWN = f"{__name__}.Careless"


class Careless(BaseBackend):
    """Asks nobody for a password, and lets everybody in."""

    def authenticate(self, request: HttpRequest | None, whoever: int = 0) -> User | None:  # type: ignore[override]
        return User.objects.filter(pk=whoever).first()

    def get_user(self, user_id: int) -> User | None:
        return User.objects.filter(pk=user_id).first()


class Site:
    """One view, called through the whole stack of middleware, synchronously or not."""

    def __init__(self) -> None:
        self.view: View = lambda request: HttpResponse("hello")

    def get(self, client: Client | AsyncClient, view: View | None = None, **options: Any) -> Any:
        if view is not None:
            self.view = view
        if isinstance(client, AsyncClient):
            return async_to_sync(self._aget)(client, **options)
        return client.get("/", **options)

    async def _aget(self, client: AsyncClient, **options: Any) -> Any:
        return await client.get("/async/", **options)


site = Site()


def synchronous(request: HttpRequest) -> Any:
    return site.view(request)


async def asynchronous(request: HttpRequest) -> Any:
    return await site.view(request)


def sorry(status: int) -> View:
    return lambda request, exception=None: HttpResponse("sorry", status=status)


handler403, handler500 = sorry(403), sorry(500)
urlpatterns = [path("", synchronous), path("async/", asynchronous)]


@pytest.fixture(autouse=True)
def _this_site(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    site.__init__()  # type: ignore[misc]
    attendance.__init__()  # type: ignore[misc]


@pytest.fixture
def bea() -> Student:
    """With anonymised answers, and a password that opens her key, too."""
    student = enrol_in_course("bea@example.org", password=PASSWORD)
    edna.disguise_all(ANONYMISE_ALL)
    return student


@pytest.fixture
def client(bea: Student) -> Client:
    """Her browser."""
    client = Client()
    client.force_login(bea.user, backend=MODEL)
    return client


@pytest.fixture
def aclient(bea: Student) -> AsyncClient:
    client = AsyncClient()
    client.force_login(bea.user, backend=MODEL)
    return client


@pytest.fixture
def placeholder(bea: Student) -> User:
    """A pseudoprincipal, careless enough to have a password and to be active."""
    user = User.objects.get(pk=Answer.objects.values_list("author").order_by("pk")[0][0])
    user.set_password(PASSWORD)
    user.is_active = True
    user.save()
    return user


def last_seen() -> dict[str | None, Any]:
    seen = rows_of("edna_principalentry", ["reference", "last_seen_on"])
    return {whole_reference(reference): day for reference, day in seen}


class TestUnlocking:
    @pytest.mark.parametrize("how", ["password", "recovery code", "secret key", "secret key text"])
    def test_until_the_end_of_the_request(self, how: str, bea: Student, client: Client) -> None:
        credentials: dict[str, Any] = {
            "password": {"password": PASSWORD},
            "recovery code": {"recovery_code": bea.recovery_code},
            "secret key": {"secret_key": bea.secret_key},
            "secret key text": {"secret_key": bea.secret_key.expose_text()},
        }[how]
        kept = []

        def view(request: Any) -> HttpResponse:
            unlocked = request.edna.unlock(**credentials)
            kept.append((request, unlocked))
            return HttpResponse(str(len(edna.history(unlocked))))

        assert site.get(client, view).content == b"1"
        request, unlocked = kept[0]
        assert unlocked.closed
        with pytest.raises(CapabilityClosed):
            request.edna.unlock(**credentials)

    def test_a_password_goes_with_the_given_identifier(self, bea: Student, client: Client) -> None:
        enrol("carl@example.org", password=PASSWORD)
        keys = []

        def view(request: Any) -> HttpResponse:
            for options in ({}, {"identifier": "carl@example.org"}):
                keys.append(request.edna.unlock(password=PASSWORD, **options).public_key)
            return HttpResponse()

        site.get(client, view)
        assert keys[0] == bea.secret_key.public_key != keys[1]

    def test_a_strangers_password_needs_an_identifier(self, bea: Student) -> None:
        with pytest.raises(TypeError, match="identifier"):
            site.get(Client(), lambda request: request.edna.unlock(password=PASSWORD))

    def test_wrong_credentials(self, client: Client) -> None:
        with pytest.raises(WrongCredentials):
            site.get(client, lambda request: request.edna.unlock(password="wrong"))

    def test_receipts_tell_where_to_look(self, bea: Student, client: Client, settings: Any) -> None:
        settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
        carl = enrol()
        answer_everything(carl)
        receipt = carl.disguise("websubmit.anonymize-all")

        def view(request: Any) -> HttpResponse:
            unlocked = request.edna.unlock(secret_key=carl.secret_key, receipts=[str(receipt)])
            return HttpResponse(str(len(edna.history(unlocked))))

        assert site.get(client, view).content == b"1"

    def test_closed_when_the_view_fails(self, bea: Student, client: Client) -> None:
        kept = []

        def view(request: Any) -> HttpResponse:
            kept.append(request.edna.unlock(secret_key=bea.secret_key))
            raise RuntimeError("planned")

        with pytest.raises(RuntimeError, match="planned"):
            site.get(client, view)
        assert kept[0].closed

    def test_closed_before_a_stream_is_read(self, bea: Student, client: Client) -> None:
        kept = []

        def view(request: Any) -> StreamingHttpResponse:
            kept.append(request.edna.unlock(secret_key=bea.secret_key))
            return StreamingHttpResponse(str(kept[0].closed) for _ in range(1))

        assert b"".join(site.get(client, view).streaming_content) == b"True"

    def test_asynchronously(self, bea: Student, aclient: AsyncClient) -> None:
        kept = []

        async def view(request: Any) -> HttpResponse:
            kept.append(await request.edna.aunlock(password=PASSWORD))
            return HttpResponse(str(len(await request.edna.aspeaks_for(User))))

        response = site.get(aclient, view)
        assert response.content == b"2"
        assert response["Cache-Control"] == "no-store, private"
        assert kept[0].closed


class TestSpeakingAs:
    def test_inside_the_block_and_no_longer(self, bea: Student, client: Client) -> None:
        answer = Answer.objects.order_by("pk")[0]
        seen = []

        def view(request: Any) -> HttpResponse:
            before = request.user
            request.edna.unlock(secret_key=bea.secret_key)
            assert answer.author_id in request.edna.speaks_for(User)
            assert answer.author_id in request.edna.speaks_for()
            assert request.edna.speaks_for(Answer) == []
            with request.edna.speak_as(answer) as speaker:
                seen.extend([request.user, speaker, async_to_sync(request.auser)()])
                another = request.edna.speak_as(Answer.objects.order_by("pk").last())
                with pytest.raises(ZeroDivisionError), another:
                    seen.append(request.user) or 1 / 0  # type: ignore[func-returns-value]
                assert request.user is speaker
            assert request.user is before
            return HttpResponse(str(request.user.pk))

        assert site.get(client, view).content == str(bea.user.pk).encode()
        assert [user.pk for user in seen[:3]] == [answer.author_id] * 3
        assert seen[3].pk not in (answer.author_id, bea.user.pk)

    def test_asynchronously(self, bea: Student, aclient: AsyncClient) -> None:
        answer = Answer.objects.order_by("pk")[0]

        async def view(request: Any) -> HttpResponse:
            await request.edna.aunlock(secret_key=bea.secret_key)
            async with request.edna.speak_as(answer):
                inside = (request.user.pk, (await request.auser()).pk)
            return HttpResponse(f"{inside} {(await request.auser()).pk}")

        expected = f"{(answer.author_id, answer.author_id)} {bea.user.pk}"
        assert site.get(aclient, view).content.decode() == expected

    def test_only_for_what_is_ones_own(self, bea: Student, client: Client) -> None:
        carl = enrol()

        def view(request: Any) -> HttpResponse:
            request.edna.unlock(secret_key=carl.secret_key)
            with pytest.raises(NotYours), request.edna.speak_as(Answer.objects.order_by("pk")[0]):
                raise AssertionError
            return HttpResponse(str(request.user.pk))

        assert site.get(client, view).content == str(bea.user.pk).encode()

    @pytest.mark.parametrize("close", [False, True])
    def test_not_with_nothing_unlocked(self, close: bool, bea: Student, client: Client) -> None:
        def view(request: Any) -> HttpResponse:
            if close:
                with request.edna.unlock(secret_key=bea.secret_key):
                    pass
            with pytest.raises(CapabilityClosed, match=r"request\.edna\.unlock"):
                request.edna.speaks_for()
            with (
                pytest.raises(CapabilityClosed, match=r"request\.edna\.unlock"),
                request.edna.speak_as(Answer.objects.order_by("pk")[0]),
            ):
                raise AssertionError
            return HttpResponse()

        assert site.get(client, view).status_code == 200

    def test_a_logout_inside_stays_a_logout(self, bea: Student, client: Client) -> None:
        def view(request: Any) -> HttpResponse:
            request.edna.unlock(secret_key=bea.secret_key)
            with request.edna.speak_as(Answer.objects.order_by("pk")[0]):
                logout(request)
            return HttpResponse(str(request.user.is_authenticated))

        assert site.get(client, view).content == b"False"


class TestHeaders:
    def test_not_those_of_other_pages(self, client: Client, settings: Any) -> None:
        settings.SECURE_REFERRER_POLICY = None
        # The sample site's own says so of all its pages.
        settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if not name.endswith(".kept_by_no_browser")]
        response = site.get(client, lambda request: HttpResponse(str(request.user.pk) + repr(request.edna)))
        assert "Cache-Control" not in response.headers
        assert "Referrer-Policy" not in response.headers

    @pytest.mark.parametrize("use", ["unlock", "fail", "speaks_for", "speak_as", "mark"])
    def test_of_every_page_that_uses_it(self, use: str, bea: Student, client: Client, settings: Any) -> None:
        settings.SECURE_REFERRER_POLICY = None

        def view(request: Any) -> HttpResponse:
            try:
                if use == "unlock":
                    request.edna.unlock(secret_key=bea.secret_key)
                elif use == "fail":
                    request.edna.unlock(password="wrong")
                elif use == "speaks_for":
                    request.edna.speaks_for()
                elif use == "speak_as":
                    request.edna.speak_as(Answer.objects.all()[0]).__enter__()
                else:
                    request.edna.mark()
            except edna.errors.EdnaError:
                pass
            return HttpResponse(headers={"Cache-Control": "max-age=60"})

        response = site.get(client, view)
        assert set(response["Cache-Control"].split(", ")) == {"max-age=60", "no-store", "private"}
        assert response["Referrer-Policy"] == "same-origin"

    def test_also_of_its_error_page(self, bea: Student, settings: Any) -> None:
        def view(request: Any) -> HttpResponse:
            request.edna.unlock(secret_key=bea.secret_key)
            raise PermissionDenied

        response = site.get(Client(), view)
        assert response.status_code == 403
        assert "no-store" in response["Cache-Control"]

    def test_a_stricter_policy_stays(self, client: Client) -> None:
        def view(request: Any) -> HttpResponse:
            request.edna.mark()
            return HttpResponse(headers={"Referrer-Policy": "no-referrer"})

        assert site.get(client, view)["Referrer-Policy"] == "no-referrer"

    def test_decorator(self, client: Client, aclient: AsyncClient) -> None:
        @edna_page
        def view(request: Any) -> HttpResponse:
            return HttpResponse("your receipt")

        @edna_page
        async def aview(request: Any) -> HttpResponse:
            return HttpResponse("your receipt")

        assert view.__name__ == "view"
        for response in (site.get(client, view), site.get(aclient, aview), view(HttpRequest())):
            assert response["Cache-Control"] == "no-store, private"
            assert response["Referrer-Policy"] == "same-origin"


class TestCost:
    def test_no_statement_for_a_request_that_asks_nothing(self, client: Client) -> None:
        assert statements(lambda: site.get(client)) == []
        assert statements(lambda: site.get(Client())) == []

    def test_no_statement_more_than_djangos_own(self, client: Client, settings: Any) -> None:
        def view(request: Any) -> HttpResponse:
            return HttpResponse(str(request.user.pk))

        with_edna = statements(lambda: site.get(client, view))
        settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "edna" not in name]
        without = Client()
        without.cookies = client.cookies
        assert len(statements(lambda: site.get(without, view))) == len(with_edna) == 2  # the session and the user

    def test_the_session_is_not_loaded(self, client: Client) -> None:
        seen = []
        site.get(client, lambda request: seen.append(request) or HttpResponse())
        assert not seen[0].session.accessed
        assert "_session_cache" not in vars(seen[0].session)

    def test_no_change_of_thread(self, bea: Student, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        settings.MIDDLEWARE = [f"{__name__}.lazy_authentication", "edna.middleware.EdnaMiddleware"]
        changes: list[Any] = []
        call = SyncToAsync.__call__
        monkeypatch.setattr(
            SyncToAsync,
            "__call__",
            lambda self, *args, **kwargs: changes.append(self.func) or call(self, *args, **kwargs),
        )

        async def view(request: Any) -> HttpResponse:
            return HttpResponse(str((await request.auser()).is_authenticated))

        async def call_site() -> None:
            handler = AsyncClient().handler
            from django.test import AsyncRequestFactory

            handler.load_middleware(is_async=True)
            response = await handler.get_response_async(AsyncRequestFactory().get("/async/"))
            assert response.content == b"False"

        site.view = view
        async_to_sync(call_site)()
        assert changes == []


def lazy_authentication(get_response: Any) -> Any:
    """What Django's does, without the change of thread that it takes for it."""
    from asgiref.sync import markcoroutinefunction
    from django.contrib.auth.models import AnonymousUser

    async def auser() -> Any:
        return AnonymousUser()

    class Middleware:
        async def __call__(self, request: Any) -> Any:
            request.user, request.auser = SimpleLazyObject(AnonymousUser), auser
            return await get_response(request)

    return markcoroutinefunction(Middleware())


lazy_authentication.sync_capable = False  # type: ignore[attr-defined]
lazy_authentication.async_capable = True  # type: ignore[attr-defined]


def test_behind_the_authentication(settings: Any) -> None:
    settings.MIDDLEWARE = ["edna.middleware.EdnaMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware"]
    with pytest.raises(ImproperlyConfigured, match="behind"):
        EdnaMiddleware(lambda request: HttpResponse())


class TestPseudoprincipals:
    """None of them is ever the user of a request."""

    @pytest.mark.parametrize("backend", [MODEL, ANYBODY, OWN])
    def test_login_is_refused(self, backend: str, placeholder: User, settings: Any) -> None:
        settings.AUTHENTICATION_BACKENDS = [backend]
        whom = {"whoever": placeholder.pk} if backend == OWN else {"username": placeholder.email, "password": PASSWORD}
        states = []

        def view(request: Any) -> HttpResponse:
            request.session["basket"] = 1
            user = authenticate(request, **whom)
            assert user == placeholder
            with pytest.raises(PermissionDenied):
                login(request, user)
            states.append((request.user.is_authenticated, dict(request.session.items())))
            return HttpResponse()

        client = Client()
        site.get(client, view)
        assert states == [(False, {})]
        with pytest.raises(PermissionDenied):
            client.force_login(placeholder)
        placeholder.refresh_from_db()
        assert placeholder.last_login is None
        assert site.get(client, lambda request: HttpResponse(str(request.user.is_authenticated))).content == b"False"

    def test_alogin_is_refused(self, placeholder: User, settings: Any) -> None:
        settings.AUTHENTICATION_BACKENDS = [OWN]

        async def view(request: Any) -> HttpResponse:
            user = await aauthenticate(request, whoever=placeholder.pk)
            with pytest.raises(PermissionDenied):
                await alogin(request, user)
            return HttpResponse(str((await request.auser()).is_authenticated))

        assert site.get(AsyncClient(), view).content == b"False"
        placeholder.refresh_from_db()
        assert placeholder.last_login is None

    @pytest.mark.parametrize("asked", [False, True])
    @pytest.mark.parametrize("with_middleware", [False, True])
    def test_after_a_refusal_the_request_is_nobodys(
        self, with_middleware: bool, asked: bool, placeholder: User, bea: Student, settings: Any
    ) -> None:
        """By either name of its user, and until somebody else logs in."""
        settings.AUTHENTICATION_BACKENDS = [OWN]
        if not with_middleware:
            settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if not name.startswith("edna.")]

        async def aview(request: Any) -> HttpResponse:
            if asked:
                await request.auser()
            with pytest.raises(PermissionDenied):
                await alogin(request, await aauthenticate(request, whoever=placeholder.pk))
            refused = [request.user, await request.auser()]
            await alogin(request, await aauthenticate(request, whoever=bea.user.pk))
            return HttpResponse(repr([user.pk for user in [*refused, request.user, await request.auser()]]))

        def view(request: Any) -> HttpResponse:
            if asked:
                request.user.is_authenticated  # noqa: B018
            with pytest.raises(PermissionDenied):
                login(request, authenticate(request, whoever=placeholder.pk))
            refused = [request.user, async_to_sync(request.auser)()]
            login(request, authenticate(request, whoever=bea.user.pk))
            return HttpResponse(repr([user.pk for user in [*refused, request.user, async_to_sync(request.auser)()]]))

        expected = repr([None, None, bea.user.pk, bea.user.pk]).encode()
        assert site.get(AsyncClient(), aview).content == expected
        assert site.get(Client(), view).content == expected

    @pytest.mark.parametrize("backend", [MODEL, ANYBODY])
    def test_as_they_are_made_no_password_is_theirs(self, backend: str, bea: Student, settings: Any) -> None:
        settings.AUTHENTICATION_BACKENDS = [backend]
        made = Answer.objects.order_by("pk")[0].author
        for password in ("", PASSWORD, made.password):
            assert authenticate(None, username=made.email, password=password) is None

    @pytest.mark.parametrize("active", [True, False])
    def test_remote_user(self, active: bool, placeholder: User, settings: Any) -> None:
        User.objects.filter(pk=placeholder.pk).update(is_active=active)
        settings.AUTHENTICATION_BACKENDS = [REMOTE]
        settings.MIDDLEWARE = [
            each
            for name in settings.MIDDLEWARE
            for each in (
                ["django.contrib.auth.middleware.RemoteUserMiddleware", name] if name.startswith("edna.") else [name]
            )
        ]
        client = Client()
        for _ in range(2):
            response = site.get(
                client, lambda request: HttpResponse(str(request.user.pk)), REMOTE_USER=placeholder.email
            )
            assert response.status_code == 403 if active else response.content == b"None"

    def forged(self, user: User, backend: str, client: Client | AsyncClient) -> Client | AsyncClient:
        session = client.session
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = backend
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        return client

    @pytest.mark.parametrize("backend", [MODEL, ANYBODY, OWN])
    @pytest.mark.parametrize("keys", ["negative", "random", "sequence"])
    @pytest.mark.parametrize("active", [True, False])
    def test_a_forged_session(
        self, active: bool, keys: str, backend: str, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": keys}
        settings.AUTHENTICATION_BACKENDS = [backend]
        if active:
            monkeypatch.delitem(Anonymous.values, "is_active")  # then nothing in the row says that it is a placeholder
            monkeypatch.setattr(factory, "_kind", factory._kind.__wrapped__)
        make_course()
        answer_everything(enrol())
        edna.disguise_all(ANONYMISE_ALL)
        made = Answer.objects.order_by("pk")[0].author
        assert made.is_active == active

        def view(request: Any) -> HttpResponse:
            assert not request.user.is_authenticated
            return HttpResponse(str(SESSION_KEY in request.session))

        async def aview(request: Any) -> HttpResponse:
            return HttpResponse(str((await request.auser()).is_authenticated))

        unseen = backend == MODEL and not active  # Django's own refusal leaves the session
        assert site.get(self.forged(made, backend, Client()), view).content == str(unseen).encode()
        assert site.get(self.forged(made, backend, AsyncClient()), aview).content == b"False"

    @pytest.mark.parametrize("keys", ["negative", "random"])
    def test_a_user_whom_other_middleware_has_set(
        self, keys: str, placeholder: User, bea: Student, settings: Any
    ) -> None:
        settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": keys}
        placeholder.is_active = False
        setting.user = placeholder
        settings.MIDDLEWARE = [
            name for old in settings.MIDDLEWARE for name in ([f"{__name__}.setting", old] if "edna" in old else [old])
        ]
        asked: Any = lambda request: HttpResponse(str(request.user.pk))  # noqa: E731

        async def aasked(request: Any) -> HttpResponse:
            return HttpResponse(str(request.user.pk))

        assert site.get(Client(), asked).content == b"None"
        assert site.get(AsyncClient(), aasked).content == b"None"
        setting.user = bea.user
        attendance.note(bea.user, None)
        assert site.get(AsyncClient(), aasked).content == str(bea.user.pk).encode()
        assert statements(lambda: site.get(Client(), asked)) == []

    def test_somebody_elses_session_stays(self, placeholder: User, client: Client, settings: Any) -> None:
        """A token that names a pseudoprincipal does not log out the person whose browser sent it."""
        settings.MIDDLEWARE = [
            name for old in settings.MIDDLEWARE for name in ([f"{__name__}.setting", old] if "edna" in old else [old])
        ]
        setting.user = placeholder
        response = site.get(client, lambda request: HttpResponse(str(SESSION_KEY in request.session)))
        assert response.content == b"True"

    def test_the_log_does_not_say_which(
        self, placeholder: User, settings: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        with pytest.raises(PermissionDenied) as refusal:
            Client().force_login(placeholder)
        assert "pseudoprincipal" in caplog.text
        for needle in (str(placeholder.pk), placeholder.email):
            assert needle not in caplog.text + str(refusal.value)

    def test_inactive_people_and_strangers_stay_what_they_are(
        self, client: Client, bea: Student, settings: Any
    ) -> None:
        settings.AUTHENTICATION_BACKENDS = [ANYBODY]
        User.objects.filter(pk=bea.user.pk).update(is_active=False)
        browser = self.forged(bea.user, ANYBODY, Client())
        view: View = lambda request: HttpResponse(str(request.user.pk))  # noqa: E731
        assert site.get(browser, view).content == str(bea.user.pk).encode()
        assert site.get(Client(), view).content == b"None"


def setting(get_response: Any) -> Any:
    """A project's middleware that finds the user by a token, say, and calls no `login`."""

    def middleware(request: Any) -> Any:
        request.user = setting.user  # type: ignore[attr-defined]
        return get_response(request)

    return middleware


class TestActivity:
    """One date a principal, at most one write a day."""

    @pytest.fixture
    def tomorrow(self, monkeypatch: pytest.MonkeyPatch) -> datetime.date:
        day = visitors.today() + datetime.timedelta(days=1)
        return day

    def ask(self, client: Client) -> list[str]:
        return statements(lambda: site.get(client, lambda request: HttpResponse(str(request.user.pk))))

    def test_at_login(self, client: Client, bea: Student) -> None:
        assert last_seen()[str(bea.user.pk)] in (visitors.today(), str(visitors.today()))
        assert sum(date is not None for date in last_seen().values()) == 1

    def test_by_the_clock_of_django(self, bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
        later = timezone.now() + datetime.timedelta(days=40)
        monkeypatch.setattr("django.utils.timezone.now", lambda: later)
        visitors.Attendance().note(bea.user, None)
        assert last_seen()[str(bea.user.pk)] in (later.date(), str(later.date()))

    def test_of_a_long_session(
        self, client: Client, bea: Student, tomorrow: datetime.date, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(visitors, "today", lambda: tomorrow)
        assert statements(lambda: site.get(client)) == []
        first, second = self.ask(client), self.ask(client)
        assert last_seen()[str(bea.user.pk)] in (tomorrow, str(tomorrow))
        assert len(first) == 4
        assert len(second) == 2
        writes = [sql for sql in first if not sql.startswith("SELECT")]
        assert sorted(sql.split()[0] for sql in writes) == ["INSERT", "UPDATE"]

    def test_another_process_writes_nothing_new(self, client: Client, bea: Student) -> None:
        attendance.__init__()  # type: ignore[misc]
        before = (
            rows_of("edna_principalentry", ["id", "last_seen_on"]),
            rows_of("edna_sessionlink", ["id", "session_key"]),
        )
        assert len(self.ask(client)) == 4
        assert before == (
            rows_of("edna_principalentry", ["id", "last_seen_on"]),
            rows_of("edna_sessionlink", ["id", "session_key"]),
        )

    def test_asynchronously(
        self, aclient: AsyncClient, bea: Student, tomorrow: datetime.date, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(visitors, "today", lambda: tomorrow)

        async def view(request: Any) -> HttpResponse:
            return HttpResponse(str((await request.auser()).pk))

        assert site.get(aclient, view).content == str(bea.user.pk).encode()
        assert last_seen()[str(bea.user.pk)] in (tomorrow, str(tomorrow))

    def test_not_after_a_logout(
        self, client: Client, bea: Student, tomorrow: datetime.date, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(visitors, "today", lambda: tomorrow)
        site.get(client, lambda request: (request.user.pk and logout(request)) or HttpResponse())
        assert tomorrow not in last_seen().values()
        assert rows_of("edna_sessionlink", ["session_key"]) == []

    def test_a_database_that_cannot_write_breaks_no_page(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        attendance.__init__()  # type: ignore[misc]

        def fail(*args: Any, **kwargs: Any) -> None:
            raise DatabaseError("read-only, and here is a row of it")

        monkeypatch.setattr(inner_door, "note_activity", fail)
        response = site.get(client, lambda request: HttpResponse(str(request.user.pk)))
        assert response.status_code == 200
        assert "DatabaseError" in caplog.text
        assert "row of it" not in caplog.text

    def test_the_memory_is_bounded(self, bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(attendance, "LIMIT", 10)
        for number in range(30):
            assert attendance.is_new(bea.user, f"session{number}")
            attendance.note(bea.user, f"session{number}")
            assert not attendance.is_new(bea.user, f"session{number}") or number % 10 == 9


@pytest.fixture(autouse=True)
def _nobody_set() -> Iterator[None]:
    yield
    setting.__dict__.clear()


def test_alogout(aclient: AsyncClient, bea: Student) -> None:
    async def view(request: Any) -> HttpResponse:
        await alogout(request)
        return HttpResponse()

    site.get(aclient, view)
    assert rows_of("edna_sessionlink", ["session_key"]) == []
