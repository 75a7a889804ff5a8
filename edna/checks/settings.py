"""Checks of ``EDNA = {...}`` and of the site around it: middleware, sessions, logging.

A little long: every setting is checked in one place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.contrib.sessions.backends.signed_cookies import SessionStore as CookieSessions
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.cache import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import FieldError, ValidationError
from django.db import router
from django.db.models import Model, Q
from django.db.models.signals import post_save
from django.utils.module_loading import import_string

from edna import conditions, conf, inner_door
from edna.errors import ConfigurationError

_OBJECT: Final = "settings.EDNA"
_A_KEY: Final = """If anything is sealed already, put back the key that it was sealed under. Otherwise make one, once, outside the database:
    export EDNA_MAC_KEY=$(openssl rand -hex 32)
and read it in the settings:
    EDNA = {"MAC_KEYS": [os.environ.get("EDNA_MAC_KEY", "")]}"""
_MIDDLEWARE: Final = "edna.middleware.EdnaMiddleware"
_READERS: Final[tuple[Callable[[], object], ...]] = (
    conf.mac_keys,
    conf.databases,
    conf.staff,
    conf.locator_mode,
    conf.custody,
    conf.recipient,
    conf.pseudoprincipal_keys,
    conf.chunk_rows,
    conf.retention_days,
    conf.argon2_opslimit,
    conf.argon2_memlimit_bytes,
    conf.argon2_costs,
    conf.key_pool_size,
    conf.key_pool_low_water,
    conf.job_runner,
    conf.job_batch,
    conf.job_concurrency,
    conf.job_rate_per_second,
    conf.job_silent_seconds,
    conf.request_rate_per_second,
    conf.request_rate_cache,
    conf.metrics_token,
    conf.guardians,
    conf.policies,
    conf.monitor,
)


def check_settings(**_: Any) -> list[CheckMessage]:
    if not isinstance(getattr(settings, "EDNA", {}), Mapping):
        hint = 'Write it as a dictionary: EDNA = {"MAC_KEYS": [...]}.'
        return [Error("EDNA is no dictionary: nothing of edna works.", hint=hint, obj=_OBJECT, id="edna.E001")]
    return [
        *_names(),
        *_values(),
        *_mac_keys(),
        *_principal_models(),
        *_staff(),
        *_recipient(),
        *_runner(),
        *_metrics(),
        *_request_rate(),
    ]


def principal_models() -> list[type[Model]]:
    """The principal models that exist; `edna.E003` speaks about the others."""
    if not isinstance(getattr(settings, "EDNA", {}), Mapping):
        return []
    return [model for _, model, _ in _resolved() if model is not None]


def _names() -> Iterator[CheckMessage]:
    for name in conf.unknown_names():
        yield Error(
            f'EDNA["{name}"] is no setting of edna: it is ignored, and the default holds instead.',
            hint=f"Correct the spelling or remove it. Known: {', '.join(sorted(conf.DEFAULTS))}.",
            obj=_OBJECT,
            id="edna.E001",
        )


def _values() -> Iterator[CheckMessage]:
    for read in _READERS:
        try:
            read()
            if read is conf.mac_keys and not all(isinstance(key, (str, bytes)) for key in settings_value("MAC_KEYS")):
                raise TypeError
        except ConfigurationError as error:
            problem = str(error)
        except TypeError:
            problem = f'EDNA["{read.__name__.upper()}"] is of a type that does not fit.'
        else:
            continue
        yield Error(
            f"{problem} Until then every disguise and every reveal is refused.",
            hint=_A_KEY if read is conf.mac_keys else "Correct the value, or leave it out to use the default.",
            obj=_OBJECT,
            id="edna.E002",
        )


def _mac_keys() -> Iterator[CheckMessage]:
    keys = settings_value("MAC_KEYS")
    if not keys:
        problem = 'EDNA["MAC_KEYS"] is not set, so the key that authenticates bags is derived from SECRET_KEY'
    elif isinstance(keys, (list, tuple)) and settings.SECRET_KEY in keys:
        problem = 'SECRET_KEY itself is among EDNA["MAC_KEYS"]'
    else:
        return
    yield Warning(
        f"{problem}: once SECRET_KEY is replaced, no disguised data can be revealed any more.",
        hint="Make a key with `openssl rand -hex 32`, keep it outside the database and in your backups of secrets, and "
        'set EDNA = {"MAC_KEYS": [key]}. Already disguised data? Keep the SECRET_KEY, or reveal first.',
        obj=_OBJECT,
        id="edna.W001",
    )


def _principal_models() -> Iterator[CheckMessage]:
    for label, model, problem in _resolved():
        if model is None:
            yield Error(
                f"The principal model {label!r} {problem}: nothing can be disguised or revealed.",
                hint='EDNA["PRINCIPAL_MODELS"] is a list of labels such as ["accounts.User"]; without it '
                "AUTH_USER_MODEL is meant.",
                obj=_OBJECT,
                id="edna.E003",
            )
    if settings_value("PSEUDOPRINCIPAL_KEYS") == "sequence":
        yield Warning(
            'EDNA["PSEUDOPRINCIPAL_KEYS"] is "sequence": consecutive keys tell a reader of the database which '
            "pseudoprincipals were made together, so what belonged to one person can be put together again.",
            hint='Use "negative" (the default) or "random", unless the application cannot live with such keys.',
            obj=_OBJECT,
            id="edna.W002",
        )


def _staff() -> Iterator[CheckMessage]:
    try:
        configured = conf.staff()
    except ConfigurationError:
        return  # edna.E002 says so
    for label, said in configured.items():
        try:
            model = apps.get_model(label)
        except (LookupError, ValueError):
            problem = f"names {label}, which is not installed"
        else:
            if _can_be_filtered(model, said):
                continue
            problem = f"tells who of {model._meta.label} is of the staff by what that model cannot be filtered by: "
            problem += ", ".join(conditions.columns(said))
        yield Error(
            f'EDNA["STAFF"] {problem}. What is for everybody but staff is refused, or takes them along.',
            hint='Name a principal model and a filter of its columns, such as {"shop.Customer": {"is_admin": True}}.',
            obj=_OBJECT,
            id="edna.E005",
        )
    yield from _nobody_of_the_staff(configured)


def _nobody_of_the_staff(configured: Mapping[str, Q]) -> Iterator[CheckMessage]:
    """What is for everybody would remove whoever could put it right, and their log-in."""
    users = apps.get_model(settings.AUTH_USER_MODEL)
    if inner_door.knows_staff(users):
        # Whoever runs the site is among the users; other principal models are for other people.
        return
    labels = [
        model._meta.label
        for model in principal_models()
        if model._meta.label_lower not in configured and not inner_door.knows_staff(model)
    ]
    if labels:
        named = ", ".join(f'"{label}": {{"is_admin": True}}' for label in labels)
        yield Warning(
            f'Nothing says who of {", ".join(labels)} runs the site: there is no column is_staff or is_superuser, and EDNA["STAFF"] does '
            "not say it. What is for everybody (edna_disguise --all, a job) disguises administrators, too.",
            hint=f'Name them: EDNA = {{..., "STAFF": {{{named}}}}}, with a column of yours; {{"pk__in": []}} where nobody runs the site.',
            obj=_OBJECT,
            id="edna.W005",
        )


def _can_be_filtered(model: type[Model], said: Q) -> bool:
    """Sends nothing."""
    try:
        model._base_manager.filter(said)
    except (FieldError, ValidationError, ValueError, TypeError):
        return False
    return True


def _recipient() -> Iterator[CheckMessage]:
    try:
        if not conf.is_hybrid():
            return
    except ConfigurationError:
        return  # _values says so
    if missing := inner_door.missing_for_hybrid_keys():
        yield Error(
            f'EDNA["RECIPIENT"] is "x-wing". {missing} Until then nobody can be registered, and nothing that is sealed so is disguised or '
            "revealed.",
            hint="pip install 'django-edna[post-quantum]' in the environment of the site and its workers, or leave EDNA['RECIPIENT'] out.",
            obj=_OBJECT,
            id="edna.E063",
        )
    if apps.is_installed("edna.devices"):
        yield Warning(
            'EDNA["RECIPIENT"] is "x-wing", and the key of a group of devices is of X25519 alone: whoever makes one goes back to that.',
            hint="Leave edna.devices out, or put edna.W068 into SILENCED_SYSTEM_CHECKS if that is meant.",
            obj=_OBJECT,
            id="edna.W068",
        )


def _runner() -> Iterator[CheckMessage]:
    if settings_value("JOB_RUNNER") == "celery" and find_spec("celery") is None:
        yield Error(
            'EDNA["JOB_RUNNER"] is "celery", and Celery is not installed: jobs are started, and nobody works on them.',
            hint="Install it with pip install 'django-edna[celery]', or leave the setting out and run `manage.py edna_run`.",
            obj=_OBJECT,
            id="edna.E004",
        )


def _metrics() -> Iterator[CheckMessage]:
    if settings_value("METRICS_TOKEN") is not None and find_spec("prometheus_client") is None:
        yield Warning(
            'EDNA["METRICS_TOKEN"] is set, and the client of Prometheus is not installed: nothing is counted.',
            hint="Install it with pip install 'django-edna[metrics]', or leave the setting out.",
            obj=_OBJECT,
            id="edna.W003",
        )


def _request_rate() -> Iterator[CheckMessage]:
    if settings_value("REQUEST_RATE_PER_SECOND") is None:
        return
    try:
        alias = conf.request_rate_cache()
        backend = import_string(settings.CACHES[alias]["BACKEND"])
    except (ConfigurationError, ImportError, KeyError):
        return  # edna.E002 says so, or Django as soon as it needs the cache
    if issubclass(backend, LocMemCache):
        problem = "is in the memory of each process: every process of the site lets in as many requests as all should together"
    elif backend.incr is BaseCache.incr:
        problem = (
            "cannot count what arrives at the same time: more requests are let in than the rate says, or all of them"
        )
    else:
        return
    yield Warning(
        f'EDNA["REQUEST_RATE_PER_SECOND"] is set, and CACHES["{alias}"], {backend.__name__}, {problem}.',
        hint="Use a cache that all processes share and that counts by itself (Redis or Memcached); name it in "
        'EDNA["REQUEST_RATE_CACHE"] if it is not the default one.',
        obj=_OBJECT,
        id="edna.W004",
    )


def shards() -> tuple[str, ...]:
    """The databases that people are in, if these are several, and rightly configured; `edna.E002` says what is wrong otherwise."""
    said = settings_value("DATABASES")
    try:
        return conf.databases() if said else ()
    except (ConfigurationError, TypeError):
        return ()


def homes_of(model: type[Model]) -> tuple[str, ...]:
    """The databases in which a principal model, or a model of people's rows, has rows."""
    return shards() or (router.db_for_write(model),)


def homes() -> tuple[str, ...]:
    """Those of principals."""
    return tuple(dict.fromkeys(alias for model in principal_models() for alias in homes_of(model)))


def settings_value(name: str) -> Any:
    """The setting as it stands, for checks that must not stop at the first wrong one."""
    configured = getattr(settings, "EDNA", {})
    return configured.get(name, conf.DEFAULTS[name]) if isinstance(configured, Mapping) else conf.DEFAULTS[name]


def _resolved() -> Iterator[tuple[str, type[Model] | None, str]]:
    configured = settings_value("PRINCIPAL_MODELS")
    labels = [configured] if isinstance(configured, str) else list(configured or [settings.AUTH_USER_MODEL])
    for label in labels:
        try:
            model = apps.get_model(label)
        except (LookupError, ValueError, AttributeError):
            yield label, None, "is not installed"
            continue
        if isinstance(configured, str):
            yield label, None, "is not in a list"
        elif model._meta.swapped:
            yield label, None, f"is swapped out for {model._meta.swapped}"
        elif model._meta.proxy:
            yield label, None, f"is a proxy; name {model._meta.concrete_model._meta.label}"
        else:
            yield label, model, ""


def check_site(**_: Any) -> list[CheckMessage]:
    return [*_middleware(), *_sessions(), *_logging(), *_listeners()]


def _middleware() -> Iterator[CheckMessage]:
    chain = list(settings.MIDDLEWARE)
    if _MIDDLEWARE not in chain:
        yield Warning(
            "EdnaMiddleware is not in MIDDLEWARE: request.edna is missing, nothing but is_active keeps "
            "pseudoprincipals from being logged in, no rate limit holds, and error reports may show what edna's pages were sent.",
            hint=f'Add "{_MIDDLEWARE}" behind AuthenticationMiddleware.',
            obj="settings.MIDDLEWARE",
            id="edna.W010",
        )
        return
    behind = chain[chain.index(_MIDDLEWARE) :]
    if any(_is(name, AuthenticationMiddleware) for name in behind):
        yield Error(
            "EdnaMiddleware stands before AuthenticationMiddleware: it runs before request.user is known, so that "
            "pseudoprincipals are not turned away.",
            hint=f'Move "{_MIDDLEWARE}" behind AuthenticationMiddleware.',
            obj="settings.MIDDLEWARE",
            id="edna.E010",
        )


def _is(name: str, base: type[Any]) -> bool:
    try:
        middleware = import_string(name)
    except ImportError:
        return False
    return isinstance(middleware, type) and issubclass(middleware, base)


def _sessions() -> Iterator[CheckMessage]:
    if not any(_is(name, SessionMiddleware) for name in settings.MIDDLEWARE):
        return
    try:
        engine = import_module(settings.SESSION_ENGINE).SessionStore
    except (ImportError, AttributeError):
        return
    if issubclass(engine, CookieSessions):
        yield Warning(
            "Sessions live in signed cookies, which the server cannot end: somebody else's browser is logged in again "
            "as soon as a removed account is revealed, and the cookie keeps the account's primary key.",
            hint='Use SESSION_ENGINE = "django.contrib.sessions.backends.db" or "cached_db", or keep '
            "SESSION_COOKIE_AGE short.",
            obj="settings.SESSION_ENGINE",
            id="edna.W011",
        )
    elif issubclass(engine, SessionBase) and not issubclass(engine, DatabaseSessions):
        yield Warning(
            f"Sessions live in {settings.SESSION_ENGINE}, which cannot be searched: those that began before edna was "
            "installed are not ended when their account is removed, and keep its primary key until they expire.",
            hint='Use SESSION_ENGINE = "django.contrib.sessions.backends.db" or "cached_db", or clear all sessions '
            "once (users log "
            "in again) and silence this.",
            obj="settings.SESSION_ENGINE",
            id="edna.W012",
        )


def _logging() -> Iterator[CheckMessage]:
    if settings.DEBUG and logging.getLogger("django.db.backends").isEnabledFor(logging.DEBUG):
        yield Warning(
            "DEBUG is on and the logger django.db.backends takes DEBUG messages: the log gets every statement with "
            "its values, and so the plaintext of all that is disguised and revealed.",
            hint='Set the logger "django.db.backends" to INFO, or use made-up data only.',
            obj="settings.LOGGING",
            id="edna.W013",
        )


def _written(names: tuple[str, ...]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"({quoted},)" if len(names) == 1 else f"({quoted})"


def _listeners() -> Iterator[CheckMessage]:
    """A log of all models is called for each row that edna saves in its own tables."""
    senders = {key[1] for key, *_ in post_save.receivers}
    heard = [model._meta.label for model in conf.own_models() if id(model) in senders]
    if heard:
        labels = tuple(sorted({each.partition(".")[0] for each in heard}))
        more = f" and {len(heard) - 3} more" if len(heard) > 3 else ""
        yield Warning(
            f"Something is told of each row that is saved in {', '.join(heard[:3])}{more}, as a log of all models is: it notes who "
            "did what, and a disguise fails with it if it takes bytes for text.",
            hint=f"Leave edna's tables out of it. For django-auditlog: AUDITLOG_EXCLUDE_TRACKING_MODELS = {_written(labels)}.",
            obj="post_save",
            id="edna.W014",
        )
