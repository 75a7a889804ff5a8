"""Removing a principal ends their sessions, whichever engine keeps them and however they came to be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AnonymousUser, update_last_login
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.contrib.sessions.backends.cache import SessionStore as CacheSessions
from django.contrib.sessions.backends.file import SessionStore
from django.contrib.sessions.backends.signed_cookies import SessionStore as CookieSessions
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import transaction
from django.http import HttpResponse
from django.test import AsyncClient, Client, RequestFactory
from django.urls import path, reverse

import edna
from apps.websubmit.models import Lecture, User
from edna import conf
from edna.models import SessionLink
from edna.operations.upkeep import residue
from edna.visitors import attendance
from tests.support import DELETE, PASSWORD, Student, enrol, rows_of, statements

pytestmark = [pytest.mark.django_db, pytest.mark.long]

ENGINES = ("db", "cached_db", "cache", "file", "signed_cookies")
IN_DATABASE = ("db", "cached_db")
ON_SERVER = ENGINES[:-1]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    attendance.__init__()  # type: ignore[misc]


@pytest.fixture
def engine(
    request: pytest.FixtureRequest, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    name = request.param
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{name}"
    monkeypatch.setattr(SessionStore, "_storage_path", str(tmp_path), raising=False)
    cache.clear()  # of what other tests have counted there
    yield name
    cache.clear()


on_server = pytest.mark.parametrize("engine", ON_SERVER, indirect=True)
every_engine = pytest.mark.parametrize("engine", ENGINES, indirect=True)
in_database = pytest.mark.parametrize("engine", IN_DATABASE, indirect=True)


@pytest.fixture
def bea() -> Student:
    return enrol("bea@example.org", password=PASSWORD)


@pytest.fixture
def carl() -> Student:
    return enrol("carl@example.org", password=PASSWORD)


def browser(student: Student, client: Client | None = None) -> Client:
    """Logged in as people log in."""
    client = client or Client()
    response = client.post(reverse("websubmit:login"), {"username": student.email, "password": PASSWORD})
    assert response.status_code == 302
    assert logged_in(client)
    return client


def logged_in(client: Client) -> bool:
    return bool(client.get(reverse("websubmit:account")).status_code == 200)


def links() -> list[Any]:
    return sorted(key for (key,) in rows_of("edna_sessionlink", ["session_key"]))


def keys(*clients: Client) -> list[str]:
    return sorted(client.cookies["sessionid"].value for client in clients)


@every_engine
def test_no_session_of_a_removed_principal_logs_anybody_in(
    engine: str, bea: Student, carl: Student, django_capture_on_commit_callbacks: Any
) -> None:
    home, work, carls = browser(bea), browser(bea), browser(carl)
    with django_capture_on_commit_callbacks(execute=True):
        receipt = bea.disguise(DELETE)
    assert [logged_in(client) for client in (home, work, carls)] == [False, False, True]

    assert bea.reveal(receipt).complete
    # The account is back, with the same key and password; a cookie that *is* the session cannot be deleted, and is not taken.
    assert [logged_in(client) for client in (home, work)] == [False, False]
    again = browser(bea)
    assert [logged_in(client) for client in (again, again, carls)] == [True, True, True]


def leave(request: Any) -> HttpResponse:
    request.edna.unlock(password=PASSWORD)
    edna.disguise(DELETE, request.user)
    if "write" in request.GET:
        request.session["note"] = "Good-bye!"
    return HttpResponse()


def _kept(where: Path) -> str:
    """All that the server keeps of sessions."""
    rows = [*Session.objects.values_list("session_data", flat=True), *map(str, SessionLink.objects.values_list())]
    files = [file.read_text() for file in where.iterdir()]
    return " ".join([*rows, *files, *map(str, cast(Any, cache)._cache.values())])


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
@every_engine
def test_what_each_engine_leaves_behind_is_in_the_docs(engine: str, tmp_path: Path, settings: Any) -> None:
    """`docs/sessions.md` has a table: what the server keeps, what the browser does, and the answer of a view that writes after it."""
    page = (Path(__file__).parents[2] / "docs/sessions.md").read_text()
    line = next(line for line in page.splitlines() if line.startswith(f"| `{engine}` |"))
    on_server, in_browser, answers = (cell.strip() for cell in line.strip("|").split("|")[2:])
    bea = enrol("bea@example.org", password=PASSWORD)
    home, work = browser(bea), browser(bea)
    assert PASSWORD not in _kept(tmp_path)
    assert bool(_kept(tmp_path)) == (engine != "signed_cookies")
    settings.ROOT_URLCONF = __name__
    home.raise_request_exception = False
    assert f"answers {home.get('/leave/?write').status_code}" == answers
    assert ("nothing" if _kept(tmp_path) == "" else "something") == on_server
    said = "a key that opens nothing"
    if engine == "signed_cookies":
        session = CookieSessions(work.cookies["sessionid"].value).load()
        said = "the primary key" if session[SESSION_KEY] == str(bea.user.pk) else "something else"
    assert said == in_browser


in_cookies = pytest.mark.parametrize("engine", ["signed_cookies"], indirect=True)


@pytest.mark.once
@in_cookies
def test_every_return_ends_the_cookies_of_the_one_before(engine: str, bea: Student) -> None:
    olds = [browser(bea)]
    for _ in range(2):
        assert bea.reveal(bea.disguise(DELETE)).complete
        assert not any(map(logged_in, olds))
        olds.append(browser(bea))
    assert logged_in(olds.pop())
    assert SessionLink.objects.count() == 1


async def whoami(request: Any) -> HttpResponse:
    """As asynchronous views ask, twice, and as what they call asks."""
    asked = [(await request.auser()).pk for _ in range(2)]
    return HttpResponse(" ".join(map(str, [*asked, await sync_to_async(lambda: request.user.pk)()])))


urlpatterns = [path("whoami/", whoami), path("leave/", leave)]


@pytest.mark.once
@every_engine
def test_an_asynchronous_page_takes_no_session_from_before_a_return(
    engine: str, bea: Student, carl: Student, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    """Through the whole stack of middleware, without a change to synchronous code."""
    clients = [browser(bea), browser(carl)]
    settings.ROOT_URLCONF = __name__

    def shown(client: Client) -> str:
        visitor = AsyncClient()
        visitor.cookies.update(client.cookies)
        answer = async_to_sync(visitor.get)("/whoami/")
        client.cookies.update(answer.cookies)
        return str(answer.content.decode())

    here, theirs = [" ".join([str(student.user.pk)] * 3) for student in (bea, carl)]
    assert list(map(shown, clients)) == [here, theirs]
    with django_capture_on_commit_callbacks(execute=True):
        receipt = bea.disguise(DELETE)
    assert list(map(shown, clients)) == ["None None None", theirs]
    assert bea.reveal(receipt).complete
    assert list(map(shown, clients)) == ["None None None", theirs]
    settings.ROOT_URLCONF = "config.urls"
    again = browser(bea)
    settings.ROOT_URLCONF = __name__
    assert shown(again) == here


@pytest.mark.once
@in_cookies
def test_a_login_in_an_asynchronous_view_is_good_until_the_next_return(
    engine: str, bea: Student, settings: Any
) -> None:
    """`alogin` notes the epoch as `login` does."""
    settings.ROOT_URLCONF = __name__
    client = AsyncClient()
    assert bea.reveal(bea.disguise(DELETE)).complete
    async_to_sync(client.aforce_login)(User.objects.get(pk=bea.user.pk))
    here = " ".join([str(bea.user.pk)] * 3)
    assert async_to_sync(client.get)("/whoami/").content.decode() == here
    assert bea.reveal(bea.disguise(DELETE)).complete
    assert async_to_sync(client.get)("/whoami/").content.decode() == "None None None"


@pytest.mark.once
@in_cookies
def test_a_refused_cookie_is_emptied(engine: str, bea: Student) -> None:
    client = browser(bea)
    bea.reveal(bea.disguise(DELETE))
    assert not logged_in(client)
    assert SESSION_KEY not in client.session


@pytest.mark.once
@in_cookies
def test_a_rotated_server_key_does_not_let_old_cookies_in(engine: str, bea: Student, settings: Any) -> None:
    client = browser(bea)
    bea.reveal(bea.disguise(DELETE))
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["another key of the server", *conf.mac_keys()]}
    assert not logged_in(client)


@in_database
def test_a_return_costs_sessions_in_the_database_nothing(engine: str, bea: Student) -> None:
    assert bea.reveal(bea.disguise(DELETE)).complete
    assert not SessionLink.objects.exists()


@pytest.mark.once
@in_cookies
def test_a_new_key_ends_no_session(engine: str, bea: Student) -> None:
    """Only a return does."""
    client = browser(bea)
    with bea.unlock() as unlocked:
        edna.rotate(unlocked)
    assert logged_in(client)


@in_database
def test_the_rows_go_in_the_same_transaction(
    engine: str, bea: Student, carl: Student, django_capture_on_commit_callbacks: Any
) -> None:
    home, work, carls = browser(bea), browser(bea), browser(carl)
    everybodys = keys(home, work, carls)
    assert sorted(Session.objects.values_list("pk", flat=True)) == everybodys == links()

    with pytest.raises(ZeroDivisionError):
        _fail_after(bea)
    assert sorted(Session.objects.values_list("pk", flat=True)) == everybodys == links()

    with django_capture_on_commit_callbacks(execute=True):
        bea.disguise(DELETE)
        assert list(Session.objects.values_list("pk", flat=True)) == keys(carls)
        # A copy in a cache goes after the commit, and what finds it with it.
        assert links() == (keys(carls) if engine == "db" else everybodys)
    assert list(Session.objects.values_list("pk", flat=True)) == keys(carls) == links()


def _fail_after(student: Student) -> None:
    with transaction.atomic():
        student.disguise(DELETE)
        assert Session.objects.count() == 1
        raise ZeroDivisionError


@pytest.mark.once
@on_server
def test_a_session_that_got_a_new_key(engine: str, bea: Student, django_capture_on_commit_callbacks: Any) -> None:
    """Changing the password gives the session another key, and no signal says so."""
    client = browser(bea)
    before = keys(client)
    new = "two otters in a canoe"
    form = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    page = client.post(reverse("websubmit:change-password"), form)
    assert page.status_code == 302, page.content.decode()
    assert keys(client) != before
    assert keys(client)[0] in links()
    with django_capture_on_commit_callbacks(execute=True):
        receipt = bea.disguise(DELETE)
    assert not logged_in(client)
    assert bea.reveal(receipt).complete
    assert not logged_in(client)


@pytest.mark.once
@on_server
def test_a_session_from_before_edna(engine: str, bea: Student, django_capture_on_commit_callbacks: Any) -> None:
    """Its next request makes it known."""
    client = browser(bea)
    SessionLink.objects.all().delete()
    attendance.__init__()  # type: ignore[misc]  # another process, or another day
    assert logged_in(client)
    with django_capture_on_commit_callbacks(execute=True):
        receipt = bea.disguise(DELETE)
    assert bea.reveal(receipt).complete
    assert not logged_in(client)


@pytest.mark.once
@on_server
def test_somebody_else_in_the_same_browser(
    engine: str, bea: Student, carl: Student, django_capture_on_commit_callbacks: Any
) -> None:
    """Django throws her session away; that the next one is his is noted before it has been saved."""
    client = browser(bea)
    client.force_login(carl.user)
    assert logged_in(client)
    with django_capture_on_commit_callbacks(execute=True):
        bea.disguise(DELETE)
    assert logged_in(client)
    with django_capture_on_commit_callbacks(execute=True):
        carl.disguise(DELETE)
    assert not logged_in(client)


@pytest.mark.once
@every_engine
def test_logging_out_forgets_the_session(engine: str, bea: Student) -> None:
    client = browser(bea)
    assert len(links()) == (engine != "signed_cookies")
    client.post(reverse("websubmit:logout"))
    assert links() == []


@pytest.mark.once
def test_what_a_link_says(bea: Student) -> None:
    """Nothing that the session does not say itself."""
    browser(bea)
    ((tag, key),) = rows_of("edna_sessionlink", ["owner_tag", "session_key"])
    assert len(bytes(tag)) == 32
    assert Session.objects.get(pk=key).get_decoded()[SESSION_KEY] == str(bea.user.pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("engine", ["cache"], indirect=True)
def test_a_cache_that_fails_costs_nobody_the_receipt(
    engine: str, bea: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then the account is gone, and the receipt may be the only way back. The other sessions are still ended."""
    home, work = browser(bea), browser(bea)
    delete = CacheSessions.delete
    failed = []

    def fail_once(session: CacheSessions, session_key: str | None = None) -> None:
        if not failed:
            failed.append(session.session_key)
            raise ConnectionError("the cache is down")
        delete(session, session_key)

    monkeypatch.setattr(CacheSessions, "delete", fail_once)
    receipt = bea.disguise(DELETE)
    assert not User.objects.filter(pk=bea.user.pk).exists()
    assert {client.cookies["sessionid"].value for client in (home, work) if _is_stored(client)} == set(failed)
    assert links() == failed
    assert bea.reveal(receipt).complete
    # It has answered by then, and nothing from before is good.
    assert [each for each in (home, work) if _is_stored(each) or logged_in(each)] == []
    assert links() == []


@pytest.mark.once
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("engine", ["cache"], indirect=True)
def test_what_a_cache_did_not_end_is_swept(engine: str, bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose they were is not kept for it."""
    client = browser(bea)
    ((tag,),) = rows_of("edna_sessionlink", ["owner_tag"])
    with monkeypatch.context() as away:
        away.setattr(CacheSessions, "delete", _fail)
        bea.disguise(DELETE)
        assert (residue.sweep().session_links, links()) == (0, keys(client))
    assert [bytes(now) for (now,) in rows_of("edna_sessionlink", ["owner_tag"])] != [bytes(tag)]
    assert residue.sweep().session_links == 1
    assert (_is_stored(client), links()) == (False, [])


def _fail(session: CacheSessions, session_key: str | None = None) -> None:
    raise ConnectionError("the cache is down")


def _is_stored(client: Client) -> bool:
    return bool(CacheSessions().exists(client.cookies["sessionid"].value))


# What a login costs


def _edna_statements(sql: list[str]) -> list[str]:
    return [statement for statement in sql if "edna_" in statement]


def _login(student: Student) -> list[str]:
    client = Client()
    return statements(lambda: client.force_login(student.user, backend="django.contrib.auth.backends.ModelBackend"))


def test_three_small_statements(bea: Student, settings: Any) -> None:
    sent = _login(bea)
    assert [sql.split()[0] for sql in _edna_statements(sent)] == ["SELECT", "INSERT", "UPDATE"]
    settings.EDNA = {**settings.EDNA, "PRINCIPAL_MODELS": ["websubmit.lecture"]}
    assert len(_login(bea)) == len(sent) - 3


@pytest.mark.once
def test_none_for_users_who_are_no_principals(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "PRINCIPAL_MODELS": ["websubmit.lecture"]}
    assert _edna_statements(_login(bea)) == []
    client = Client()
    client.force_login(bea.user)
    assert _edna_statements(statements(lambda: client.post(reverse("websubmit:logout")))) == []


def test_one_more_login_with_the_same_session(bea: Student) -> None:
    request = RequestFactory().get("/")
    client = browser(bea)
    request.session = client.session
    user_logged_in.send(User, request=request, user=bea.user)
    assert links() == keys(client)


@pytest.mark.once
@pytest.mark.parametrize(
    "request_", [None, RequestFactory().get("/"), SimpleNamespace(session=None), SimpleNamespace(user=None)]
)
@pytest.mark.parametrize("kind", ["principal", "nobody", "stranger", "unsaved", "other"])
def test_signals_without_a_request_or_a_session(request_: Any, kind: str, bea: Student) -> None:
    """Other applications send them, too."""
    whom: Any = {
        "principal": bea.user,
        "nobody": None,
        "stranger": AnonymousUser(),
        "unsaved": User(),
        "other": Lecture(label="x"),
    }[kind]
    user_logged_in.disconnect(dispatch_uid="update_last_login")
    try:
        for signal in (user_logged_in, user_logged_out):
            signal.send(type(whom), request=request_, user=whom)
    finally:
        user_logged_in.connect(update_last_login, dispatch_uid="update_last_login")
    assert links() == []


@pytest.mark.once
def test_a_principal_without_a_key_can_log_in(db: None) -> None:
    user = User.objects.create_user("dora@example.org", PASSWORD)
    client = Client()
    client.force_login(user)
    assert not edna.is_registered(user)
    assert logged_in(client)


def test_a_site_without_sessions_leaves_the_setting_as_it_is(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One with tokens alone, say. Django's class of its rows cannot be imported there."""
    bea = enrol()

    def cannot_be_imported() -> Any:
        raise RuntimeError("Model class doesn't declare an explicit app_label")

    monkeypatch.setattr("django.contrib.sessions.backends.db.SessionStore.get_model_class", cannot_be_imported)
    settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sessions"]
    receipt = bea.disguise(DELETE)
    assert bea.reveal(receipt).complete
