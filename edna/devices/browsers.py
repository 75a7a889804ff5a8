"""The key of a device that is a browser, where the server uses keys: in a cookie, which each request to the pages brings along. Where keys
are used on either side, browsers without scripts have one, and those that were given one before.

Keeps: no script reads the cookie, no other site has it sent, and it goes to edna's pages alone; error reports hide it by its name. The
server keeps nothing of it. Several people may use one browser: each has a cookie, and one that opens somebody else's key opens nothing
here. Nor does any while nobody is logged in, but for an account that is away: it has no other way back. What is no device yet is signed,
for whoever was logged in and for an hour: nobody's key or code comes from who was here before, or who can write cookies.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.core.signing import BadSignature, SignatureExpired, TimestampSigner
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.debug import sensitive_variables

from edna import api, conf, devices
from edna.api_http.proofs import at_home
from edna.devices.writing import CODE_LIFETIME
from edna.errors import (
    DatabaseBusy,
    DeviceGroupEnded,
    DeviceLoggedOut,
    DeviceRemoved,
    DeviceUnknown,
    EdnaError,
    KeyMalformed,
    NotYours,
)
from edna.visitors import is_same, shard_of

#: Its name has a word by which reports of errors hide it.
_NAME: Final = "edna_device_key_"
#: In the place of a code.
_IS_NEW: Final = "new"
#: As long as browsers keep one.
_MAX_AGE_SECONDS: Final = 400 * 86_400
#: Whoever has more of them in one browser has put them there by hand.
_MOST: Final = 8
#: How long a key is taken, or a code shown, that is no device's yet: as long as a code is.
_LIFETIME: Final = CODE_LIFETIME
_SIGNER: Final = "edna.devices.cookie"


@dataclass(frozen=True, repr=False)
class BroughtKey:
    """A key that this browser keeps as a device. ``code`` is what it shows until another device has added it. ``is_new``: it was given the
    key before anything was done with it, so that an answer that is lost loses no key. With either, ``is_own`` says that it was made for
    who is logged in, and ``is_late`` that this is too long ago."""

    cookie: str
    secret_key: api.SecretKey
    code: str = ""
    is_new: bool = False
    is_own: bool = True
    is_late: bool = False


@sensitive_variables()
def brought_keys(request: HttpRequest) -> Iterator[BroughtKey]:
    """Those of whoever uses this browser."""
    names = sorted(name for name in request.COOKIES if name.startswith(_NAME))
    for name in names[:_MOST]:
        text, _, marked = request.COOKIES[name].partition(".")
        mark, _, signature = marked.partition(".")
        try:
            key = api.SecretKey.parse(text)
        except KeyMalformed:
            continue
        is_own, is_late = _signed(f"{text}.{mark}.{_whose(request)}", signature) if mark else (True, False)
        yield BroughtKey(name, key, "" if mark == _IS_NEW else mark, mark == _IS_NEW, is_own, is_late)


@sensitive_variables()
def _signed(said: str, signature: str) -> tuple[bool, bool]:
    """Whether this server has signed it; whether too long ago."""
    try:
        TimestampSigner(salt=_SIGNER).unsign(f"{said}:{signature}", max_age=_LIFETIME)
    except SignatureExpired:
        return True, True
    except BadSignature:
        return False, False
    return True, False


def _whose(request: HttpRequest) -> str:
    user: Any = request.user
    return f"{user._meta.label_lower}.{user.pk}.{shard_of(user)}".rstrip(".") if user.is_authenticated else ""


def brings_one(request: HttpRequest) -> bool:
    """Whether there is one that may open something, whoever's; another device may have added it meanwhile. No statement."""
    brought = [text for name, text in request.COOKIES.items() if name.startswith(_NAME)]
    return any(text and f".{_IS_NEW}." not in text for text in brought) and _are_in_cookies()


def _are_in_cookies() -> bool:
    return conf.has_devices() and conf.custody() != "browser"


@sensitive_variables()
def opened(request: HttpRequest, secret_key: str) -> api.Unlocked | None:
    """What a key of a device opens: the one that was typed, or one that this browser keeps, of who is logged in. None: a typed one is no
    device's.

    Raises:
        DeviceUnknown, DeviceRemoved, DeviceGroupEnded, DeviceLoggedOut: nothing was typed, and no device here opens anything.
    """
    if not _are_in_cookies():
        return None
    if secret_key:
        try:
            with at_home(request):
                return _without_renewal(devices.unlock(secret_key))
        except (DeviceUnknown, KeyMalformed, DatabaseBusy):
            return None  # what it is besides is looked for by the caller
    problem: EdnaError | None = None
    for each in brought_keys(request):
        try:
            return own(request, each)
        except (DeviceUnknown, DeviceRemoved, DeviceGroupEnded, DeviceLoggedOut, NotYours) as error:
            problem = problem if each.is_new else error
    raise problem or DeviceUnknown("This browser keeps no key of a device. Nothing was changed.")


def own(request: HttpRequest, brought: BroughtKey) -> api.Unlocked:
    """
    Raises:
        DeviceUnknown, DeviceRemoved, DeviceGroupEnded: it opens nothing any more, or not yet.
        NotYours: it is a device of another account than the one that is logged in.
        DeviceLoggedOut: nobody is logged in, and its account is not away.
    """
    with at_home(request):
        unlocked = _without_renewal(devices.unlock(brought.secret_key))
    user: Any = request.user
    account = api.principal(unlocked)
    if user.is_authenticated and not is_same(account, user):
        unlocked.close()
        raise NotYours("This is a device of another account than the one that is logged in. Nothing was changed.")
    # Who cannot log in, because the account is removed or lets nobody in, comes back by a device. Whoever can is asked to.
    if not user.is_authenticated and account is not None and getattr(account, "is_active", True):
        unlocked.close()
        raise DeviceLoggedOut("This device belongs to an account that can log in. Log in first; nothing was changed.")
    return unlocked


def _without_renewal(unlocked: api.Unlocked) -> api.Unlocked:
    """A page for one new key would replace that of the device, and not tell it: there a person with devices is refused."""
    unlocked.renewed_by = None
    return unlocked


def new_name() -> str:
    """Of a cookie. It says of nobody that they have one."""
    return _NAME + secrets.token_hex(4)


@sensitive_variables()
def keep(response: HttpResponseBase, brought: BroughtKey, *, request: HttpRequest, path: str) -> None:
    """Have the browser keep it, for as long as browsers do; from now on."""
    text = brought.secret_key.expose_text()
    if mark := _IS_NEW if brought.is_new else brought.code:
        said = f"{text}.{mark}.{_whose(request)}"
        text = f"{text}.{mark}.{TimestampSigner(salt=_SIGNER).sign(said).removeprefix(said + ':')}"
    response.set_cookie(
        brought.cookie,
        text,
        max_age=_MAX_AGE_SECONDS,
        path=path,
        secure=settings.SESSION_COOKIE_SECURE or request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def forget(response: HttpResponseBase, cookie: str, *, path: str) -> None:
    """Have the browser forget it."""
    response.delete_cookie(cookie, path=path, samesite="Lax")
