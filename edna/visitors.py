"""Whom a request comes from: never a pseudoprincipal; and, no finer than a day, when each principal was last here.

Guarantees: an ordinary user costs no statement, however often asked about, but for two small ones a day (`Attendance`). Where
sessions lie in cookies they cannot be ended, so that one statement per request asks whether this one is from before a return. A session
tells in which minute its person logged in, for what a copied one must not do.
Does not know: who logged in how (`edna.receivers`, `edna.middleware`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY, load_backend
from django.contrib.auth.models import AnonymousUser
from django.db import DatabaseError
from django.db.models import Model
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject, empty

from edna import api, clock, conf, inner_door, registry
from edna.clock import today
from edna.coverage import same_table
from edna.errors import PrincipalError, ServerKeyUnknown, SpecError

logger = logging.getLogger("edna")

#: The longest session key that can be noted. Cookie-based sessions have the whole session for a key.
LONGEST_SESSION_KEY = 40
#: Where a session in a cookie keeps the epoch of its principal.
_EPOCH = "_edna_epoch"
#: Where a session keeps the minute in which its person has shown who they are.
_SHOWN_AT = "_edna_shown_at"
#: For so long a session may make a first key, without the password once more: it leads to everything from then on.
FRESH_SECONDS = 600


def is_pseudoprincipal(user: object) -> bool:
    """Whether this is a placeholder that a disguise made: one statement, none for what is no principal at all."""
    try:
        return isinstance(user, Model) and api.is_pseudoprincipal(user)
    except PrincipalError:
        return False


def log_out(user: Model, request: HttpRequest | None) -> None:
    """Undo what a backend did for a pseudoprincipal. The log does not say for which."""
    logger.warning("A pseudoprincipal was refused as the user of a request; some backend had let it in.")
    if request is None:
        return
    session = getattr(request, "session", None)
    if session is not None and _is_session_of(user, session):
        session.flush()
    _become_nobody(request)


def _become_nobody(request: HttpRequest) -> None:
    nobody = AnonymousUser()
    # All places in which some version of Django keeps a user; from 6.0 on, `login` and `alogin` replace `auser`, too.
    for name in ("user", "_cached_user", "_acached_user"):
        if hasattr(request, name):
            setattr(request, name, nobody)
    if hasattr(request, "auser"):

        async def auser() -> Any:
            return getattr(request, "user", nobody)  # whom a later login puts there

        request.auser = auser


def _is_session_of(user: Model, session: Any) -> bool:
    """Not of a user of another model with the same primary key: only the session's backend knows which model is meant."""
    if session.get(SESSION_KEY) != user._meta.pk.value_to_string(user):
        return False
    try:
        found = load_backend(session[BACKEND_SESSION_KEY]).get_user(user.pk)
    except (KeyError, ImportError):
        return True
    return not isinstance(found, Model) or same_table(type(found), type(user))


def is_principal(user: object) -> bool:
    try:
        return isinstance(user, Model) and user.pk is not None and bool(registry.home_of(user))
    except PrincipalError:
        return False


def is_same(account: Any, user: Any) -> bool:
    """Whether both are one person: in another database the same primary key is somebody else's."""
    return bool(account == user) and shard_of(account) == shard_of(user)


def has_password(account: Any) -> bool:
    """Whether any password could be the account's. Django takes an empty column for a usable one; its `RemoteUserBackend` leaves that."""
    return bool(account.has_usable_password() and getattr(account, "password", True))


def shard_of(user: Any) -> str:
    """In which of several databases somebody is, also if they were read from a replica; empty where there is one, or they are in none."""
    return registry.home_of(user)[2] if conf.databases() and is_principal(user) else ""


def session_key_of(request: HttpRequest | None) -> str | None:
    """The key of the request's session, if edna can note it."""
    key = getattr(getattr(request, "session", None), "session_key", None)
    return key if isinstance(key, str) and 0 < len(key) <= LONGEST_SESSION_KEY else None


def lies_in_cookie(request: HttpRequest | None) -> bool:
    """Whether the request's session is its own key, which the browser keeps: no server can delete it."""
    key = getattr(getattr(request, "session", None), "session_key", None)
    return isinstance(key, str) and len(key) > LONGEST_SESSION_KEY


def begin_epoch(user: Model, session: Any) -> None:
    """The session is good until the next return of this principal."""
    epoch = inner_door.session_epoch(user)
    if epoch is not None:
        session[_EPOCH] = epoch


def note_login(session: Any) -> None:
    session[_SHOWN_AT] = int(clock.now().timestamp()) // 60


def is_fresh_login(request: HttpRequest) -> bool:
    """Whether who is logged in has just shown who they are, or did not log in by a session, which somebody may have copied."""
    session: Mapping[str, Any] = getattr(request, "session", {})
    if SESSION_KEY not in session:
        return True
    shown_at = session.get(_SHOWN_AT)
    return isinstance(shown_at, int) and clock.now().timestamp() - 60 * shown_at < FRESH_SECONDS


def is_from_before(user: Model, request: HttpRequest) -> bool:
    """Whether the request's session, in a cookie, is from before this user was removed and came back."""
    session: Any = request.session
    if session.get(SESSION_KEY) != user._meta.pk.value_to_string(user) or not is_principal(user):
        return False
    epoch = inner_door.session_epoch(user)
    return epoch is not None and session.get(_EPOCH) != epoch


class Attendance:
    """Notes who was here today, and with which session: two small statements for a session, day and process.

    The memory is this process's own; it holds hashes, and is emptied every day.
    """

    #: More users a day than this are noted again now and then, which changes nothing.
    LIMIT = 100_000

    def __init__(self) -> None:
        self._day = today()
        self._marks: set[int] = set()

    def is_new(self, user: Model, session_key: str | None) -> bool:
        return self._mark(user, session_key) not in self._todays()

    def note(self, user: object, session_key: str | None) -> None:
        if not isinstance(user, Model):
            return
        if is_principal(user):
            if session_key is not None:
                try:
                    inner_door.end_sessions_on_removal(user, session_key)
                except ServerKeyUnknown as error:
                    # Nobody's login is to fail for that. Not marked, so that it is noted as soon as the key is right.
                    logger.error("A session could not be noted: %s", error)
                    return
            inner_door.note_activity(user, today=today())
        self._todays().add(self._mark(user, session_key))

    def _todays(self) -> set[int]:
        if self._day != (day := today()) or len(self._marks) >= self.LIMIT:
            self._day, self._marks = day, set()
        return self._marks

    @staticmethod
    def _mark(user: Model, session_key: str | None) -> int:
        return hash((user._meta.label_lower, user.pk, user._state.db, session_key))


attendance = Attendance()


class LazyVisitor(SimpleLazyObject):
    """A `SimpleLazyObject` that is cheaper to make, for every request makes one."""

    _wrapped = empty  # where Django's writes it into each instance

    def __init__(self, find: Callable[[], Any]) -> None:
        object.__setattr__(self, "_setupfunc", find)


class Visitor:
    """Whom a request comes from, looked at once somebody asks. Never a pseudoprincipal."""

    #: The user, once asked for, if it is one of the database.
    user: Model | None = None
    #: What ``request.user`` was: not looked at yet, or an object already, set by something else than Django.
    lazy_user: Any = None
    outsider: Any = None
    #: What this class made ``request.user`` instead.
    offered: Any = None
    auser: Callable[[], Awaitable[Any]]

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def resolve(self) -> Any:
        self.lazy_user.is_authenticated  # noqa: B018 - looks it up
        return self.admit(self.lazy_user._wrapped)

    async def aresolve(self) -> Any:
        return await self.aadmit(await self.auser())

    def admit(self, user: Any) -> Any:
        if not isinstance(user, Model):
            return user
        if _could_be_pseudoprincipal(user) and is_pseudoprincipal(user):
            log_out(user, self._request)
            return AnonymousUser()
        if lies_in_cookie(self._request) and is_from_before(user, self._request):
            self._request.session.flush()
            _become_nobody(self._request)
            return AnonymousUser()
        self.user = user
        return user

    async def aadmit(self, user: Any) -> Any:
        if isinstance(user, Model) and (lies_in_cookie(self._request) or _could_be_pseudoprincipal(user)):
            return await sync_to_async(self.admit)(user)
        return self.admit(user)

    def is_new_today(self) -> bool:
        """Whether `note` has something to note: not after a logout, nor after a login as somebody else."""
        user = self.user
        return (
            user is not None
            and self._request.user is self.offered
            and attendance.is_new(user, session_key_of(self._request))
        )

    def note(self) -> None:
        try:
            attendance.note(self.user, session_key_of(self._request))
        except DatabaseError as error:
            # The page is made; the next one tries again.
            logger.warning("The day of a principal's activity could not be noted: %s", type(error).__name__)


def _could_be_pseudoprincipal(user: Model) -> bool:
    """Decided from the user object alone, so that ordinary users cost no statement.

    A pseudoprincipal is inactive, unless the application's own generators leave it active; and with the default
    ``EDNA["PSEUDOPRINCIPAL_KEYS"]``, its key is negative. Who is neither is none. Without either mark, everybody could be.
    """
    if user.pk is None:
        return False
    if not getattr(user, "is_active", True):
        return True
    if isinstance(user.pk, int) and conf.pseudoprincipal_keys() == "negative":
        return user.pk < 0
    try:
        model = registry.principal_model_of(user)
    except PrincipalError:
        return False
    return any(generator.values.get("is_active") is not False for generator in _generators(model))


def _generators(model: type[Model]) -> Iterator[Any]:
    """What fills pseudoprincipals of this principal model."""
    for disguise in (*registry.disguises().values(), *registry.all_by_hand().values()):
        own = disguise.pseudoprincipal
        if own is not None and not same_table(own.model, model):
            continue  # the disguise is for principals of another model
        try:
            yield registry.pseudoprincipal_for(disguise, model)
        except SpecError:
            continue  # this disguise makes none
