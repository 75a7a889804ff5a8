"""The project's ``EDNA = {...}`` setting, read live, with defaults.

Nothing is cached, so ``override_settings`` and a reloaded configuration take effect at once. This module knows the
names, types and bounds of the settings; it does not know what they are used for. A little long: every setting is read in one place.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, Literal

from django.apps import apps as django_apps
from django.conf import settings
from django.db.models import Model, Q

from edna.errors import ConfigurationError

LocatorMode = Literal["server", "client"]
PseudoprincipalKeys = Literal["negative", "random", "sequence"]
Custody = Literal["server", "browser", "both"]
Recipient = Literal["x25519", "x-wing"]
JobRunner = Literal["command", "celery", "eager"]

DEFAULTS: Final[dict[str, Any]] = {
    "MAC_KEYS": (),
    "PRINCIPAL_MODELS": (),
    "DATABASES": (),
    "STAFF": {},
    "LOCATORS": "server",
    "CUSTODY": "server",
    "RECIPIENT": "x25519",
    "PSEUDOPRINCIPAL_KEYS": "negative",
    "CHUNK_ROWS": 2_000,
    "COMPRESS": True,
    "RETENTION_DAYS": None,
    "ARGON2_OPSLIMIT": 2,
    "ARGON2_MEMLIMIT_BYTES": 64 * 1024 * 1024,
    "ARGON2_FORMER": (),
    "KEY_POOL_SIZE": 256,
    "KEY_POOL_LOW_WATER": None,
    "JOB_RUNNER": "command",
    "JOB_BATCH": 50,
    "JOB_CONCURRENCY": 2,
    "JOB_RATE_PER_SECOND": None,
    "JOB_SILENT_SECONDS": 60,
    "REQUEST_RATE_PER_SECOND": None,
    "REQUEST_RATE_CACHE": "default",
    "LEDGER": False,
    "METRICS_TOKEN": None,
    "GUARDIANS": None,
    "POLICIES": {},
    "MONITOR": None,
}

_ARGON2_LEAST_BYTES: Final = 8192
#: The applications of the library, by their labels; all but the first may not be installed.
OWN_LABELS: Final = ("edna", "edna_operations", "edna_guardians", "edna_devices", "edna_audiences", "edna_policies")


def _read(name: str) -> Any:
    configured = getattr(settings, "EDNA", {})
    return configured.get(name, DEFAULTS[name])


def _choice(name: str, allowed: tuple[str, ...]) -> Any:
    value = _read(name)
    if value not in allowed:
        raise ConfigurationError(f'EDNA["{name}"] is {value!r}; choose one of {", ".join(allowed)}.')
    return value


def _positive(name: str) -> int:
    value = _read(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigurationError(f'EDNA["{name}"] must be a whole number of at least 1.')
    return value


def _rate(name: str) -> float | None:
    rate = _read(name)
    if rate is None:
        return None
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate <= sys.float_info.max:
        raise ConfigurationError(f'EDNA["{name}"] must be a number above 0, or None for no limit.')
    return float(rate)


def unknown_names() -> list[str]:
    """Names in ``EDNA`` that edna does not know: most likely misspelt."""
    return sorted(set(getattr(settings, "EDNA", {})) - set(DEFAULTS))


def mac_keys() -> list[bytes]:
    """The server keys that authenticate bags: the first signs, all verify.

    Without ``EDNA["MAC_KEYS"]`` one key is derived from ``SECRET_KEY``. That is for development: bags outlive a
    ``SECRET_KEY``, and the check ``edna.W001`` says so.
    """
    configured = _read("MAC_KEYS")
    if isinstance(configured, (str, bytes)):
        raise ConfigurationError('EDNA["MAC_KEYS"] must be a list of keys, newest first, not one string.')
    if not all(isinstance(key, (str, bytes)) for key in configured):
        raise ConfigurationError('Every key in EDNA["MAC_KEYS"] must be text or bytes.')
    return list(_usable_keys(tuple(configured))) or [_development_key(settings.SECRET_KEY)]


# Each act asks several times; these know no more than the settings, which are in memory as long.
@functools.lru_cache(maxsize=16)
def _usable_keys(configured: tuple[str | bytes, ...]) -> tuple[bytes, ...]:
    keys = tuple(key.encode() if isinstance(key, str) else key for key in configured)
    if not all(keys):
        raise ConfigurationError(
            'A key in EDNA["MAC_KEYS"] is empty. If it is read from the environment, put it there: make one, once, with '
            "`export EDNA_MAC_KEY=$(openssl rand -hex 32)`, keep it where your other secrets are, and set the variable whenever the "
            "site starts."
        )
    if any(len(key) < 16 for key in keys):
        raise ConfigurationError(
            'Every key in EDNA["MAC_KEYS"] needs at least 16 bytes; make one with `openssl rand -hex 32`.'
        )
    return keys


@functools.lru_cache(maxsize=16)
def _development_key(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode(), person=b"edna.dev.mac.key", digest_size=32).digest()


def principal_models() -> list[str]:
    """Labels of the models whose rows are principals; ``AUTH_USER_MODEL`` unless configured."""
    return list(_read("PRINCIPAL_MODELS") or [settings.AUTH_USER_MODEL])


def databases() -> tuple[str, ...]:
    """Aliases of the databases that people are in, where these are several; none where there is one."""
    said = _read("DATABASES")
    if not said:
        return ()
    known = isinstance(said, (list, tuple)) and all(
        isinstance(alias, str) and alias in settings.DATABASES for alias in said
    )
    if not known or len(set(said)) < len(said):
        raise ConfigurationError('EDNA["DATABASES"] must be a list of names in DATABASES, each once.')
    return tuple(said)


def staff() -> dict[str, Q]:
    """By the label of a principal model, in lower case: a condition that finds those who run the site."""
    configured = _read("STAFF")
    if not isinstance(configured, Mapping) or not all(
        isinstance(label, str) and _is_condition(said) for label, said in configured.items()
    ):
        raise ConfigurationError(
            'EDNA["STAFF"] must be a dictionary of a filter for each model, such as {"shop.Customer": {"is_admin": True}}, '
            "or of a Q."
        )
    return {label.lower(): said if isinstance(said, Q) else Q(**said) for label, said in configured.items()}


def _is_condition(said: object) -> bool:
    if isinstance(said, Mapping):
        return bool(said) and all(type(name) is str for name in said)
    return isinstance(said, Q) and bool(said)


def custody() -> Custody:
    """Where people's secret keys are used: on the server, in their browsers, or in both, each person as they are."""
    kind: Custody = _choice("CUSTODY", ("server", "browser", "both"))
    return kind


def recipient() -> Recipient:
    """Of which kind new keys are, and so what is sealed to them."""
    kind: Recipient = _choice("RECIPIENT", ("x25519", "x-wing"))
    return kind


def is_hybrid() -> bool:
    """Whether new keys are of the hybrid kind."""
    return recipient() == "x-wing"


def locator_mode() -> LocatorMode:
    mode: LocatorMode = _choice("LOCATORS", ("server", "client"))
    return mode


def pseudoprincipal_keys() -> PseudoprincipalKeys:
    keys: PseudoprincipalKeys = _choice("PSEUDOPRINCIPAL_KEYS", ("negative", "random", "sequence"))
    return keys


def chunk_rows() -> int:
    return _positive("CHUNK_ROWS")


def compress() -> bool:
    return bool(_read("COMPRESS"))


def retention_days() -> int | None:
    return None if _read("RETENTION_DAYS") is None else _positive("RETENTION_DAYS")


def argon2_opslimit() -> int:
    return _positive("ARGON2_OPSLIMIT")


def argon2_memlimit_bytes() -> int:
    limit = _positive("ARGON2_MEMLIMIT_BYTES")
    if limit < _ARGON2_LEAST_BYTES:
        raise ConfigurationError(
            f'EDNA["ARGON2_MEMLIMIT_BYTES"] must be at least {_ARGON2_LEAST_BYTES}: Argon2id takes no less.'
        )
    return limit


def argon2_costs() -> list[tuple[int, int]]:
    """Argon2id's (opslimit, memlimit in bytes): what new password slots cost first, then what older ones may have cost.

    A slot is found by what the password is stretched to, so a cost that slots were made with must stay in the list.
    """
    former = _read("ARGON2_FORMER")
    if not all(
        isinstance(cost, (list, tuple)) and len(cost) == 2 and all(type(limit) is int and limit > 0 for limit in cost)
        for cost in former
    ):
        raise ConfigurationError('EDNA["ARGON2_FORMER"] must be a list of (opslimit, memlimit in bytes) pairs.')
    return [(argon2_opslimit(), argon2_memlimit_bytes()), *((opslimit, memlimit) for opslimit, memlimit in former)]


def key_pool_size() -> int:
    return _positive("KEY_POOL_SIZE")


def key_pool_low_water() -> int:
    """At how many key pairs the pool is refilled: half of its size unless configured."""
    if _read("KEY_POOL_LOW_WATER") is None:
        return key_pool_size() // 2
    low_water = _positive("KEY_POOL_LOW_WATER")
    if low_water >= key_pool_size():
        raise ConfigurationError('EDNA["KEY_POOL_LOW_WATER"] must be less than EDNA["KEY_POOL_SIZE"].')
    return low_water


def job_runner() -> JobRunner:
    runner: JobRunner = _choice("JOB_RUNNER", ("command", "celery", "eager"))
    return runner


def job_batch() -> int:
    """How many principals a job disguises in one transaction."""
    return _positive("JOB_BATCH")


def job_concurrency() -> int:
    return _positive("JOB_CONCURRENCY")


def job_silent_seconds() -> int:
    """After how much silence a process that worked on a job counts as dead, so that another may take its place."""
    return _positive("JOB_SILENT_SECONDS")


def job_rate_per_second() -> float | None:
    return _rate("JOB_RATE_PER_SECOND")


def request_rate_per_second() -> float | None:
    """How many requests a second may ask edna for work."""
    return _rate("REQUEST_RATE_PER_SECOND")


def request_rate_cache() -> str:
    """The alias of the cache in which those requests are counted."""
    alias = _read("REQUEST_RATE_CACHE")
    if not isinstance(alias, str) or alias not in settings.CACHES:
        raise ConfigurationError('EDNA["REQUEST_RATE_CACHE"] must be one of the names in CACHES.')
    return alias


def ledger() -> bool:
    return bool(_read("LEDGER"))


def metrics_token() -> str | None:
    token = _read("METRICS_TOKEN")
    if token is not None and (not isinstance(token, str) or len(token) < 16):
        raise ConfigurationError('EDNA["METRICS_TOKEN"] must be a text of at least 16 characters, or None.')
    return token


def own_models(apps: Any = django_apps) -> list[type[Model]]:
    """Those with a table, of the library's applications that are installed."""
    labels = [label for label in OWN_LABELS if label in apps.app_configs]
    models = (model for label in labels for model in apps.get_app_config(label).get_models())
    return [model for model in models if model._meta.managed and not model._meta.proxy]


def has_operations() -> bool:
    """Whether `edna.operations` is installed."""
    return django_apps.is_installed("edna.operations")


def guardians() -> Mapping[str, Any] | None:
    """Where the roster of guardians and the site's key for them lie, and what people call each; None without guardians."""
    said = _read("GUARDIANS")
    if said is None:
        return None
    files = {"ROSTER", "SITE_KEY"}
    if (
        not isinstance(said, Mapping)
        or not files <= set(said) <= {*files, "NAMES"}
        or not all(isinstance(said[name], (str, os.PathLike)) for name in files)
        or not isinstance(said.get("NAMES", []), (list, tuple))
    ):
        raise ConfigurationError(
            'EDNA["GUARDIANS"] must be a dictionary with "ROSTER" and "SITE_KEY", two files, and perhaps "NAMES", a list.'
        )
    return said


def has_devices() -> bool:
    """Whether `edna.devices` is installed."""
    return django_apps.is_installed("edna.devices")


def has_audiences() -> bool:
    """Whether `edna.audiences` is installed."""
    return django_apps.is_installed("edna.audiences")


def policies() -> Mapping[str, str]:
    """Policies by name; a disguise names one."""
    return {name: text for name, (text, _) in _policies().items()}


def policies_by_attributes() -> frozenset[str]:
    """The names of those that are sealed to attributes, and not to the keys of clauses."""
    return frozenset(name for name, (_, carrier) in _policies().items() if carrier == "attributes")


def _policies() -> Mapping[str, tuple[str, str]]:
    """Text and carrier."""
    said = _read("POLICIES")
    read = {}
    for name, each in said.items() if isinstance(said, Mapping) else [(None, None)]:
        whole = {"policy": each, "carrier": "clauses"} if isinstance(each, str) else each
        if (
            not isinstance(name, str)
            or not isinstance(whole, Mapping)
            or set(whole) != {"policy", "carrier"}
            or not isinstance(whole["policy"], str)
            or whole["carrier"] not in ("clauses", "attributes")
        ):
            raise ConfigurationError(
                'EDNA["POLICIES"] must be a dictionary of texts by name, {"restore": "region = eu"}; in place of a text there may be '
                '{"policy": text, "carrier": "clauses" or "attributes"}.'
            )
        read[name] = whole["policy"], whole["carrier"]
    return read


def monitor() -> Mapping[str, Any] | None:
    """Where the monitor of policies is, its public key, the file of its clauses, and what this process shows; None without one."""
    said = _read("MONITOR")
    if said is None:
        return None
    needed, others = {"ADDRESS", "PUBLIC_KEY", "CLAUSES"}, {"CERTIFICATE", "ATTRIBUTES", "MANIFEST", "WORKER_KEY"}
    of_tpm = {"TPM", "TPM_CERTIFICATE", "TPM_REGISTERS"}
    problem = ""
    if isinstance(said, Mapping):
        unknown, missing = set(said) - needed - others - of_tpm, needed - set(said)
        problem += f" It has {', '.join(sorted(map(repr, unknown)))}, which it cannot have." if unknown else ""
        problem += f" It lacks {', '.join(sorted(map(repr, missing)))}." if missing else ""
    if (
        not isinstance(said, Mapping)
        or problem
        or not all(isinstance(each, (str, os.PathLike)) for each in said.values())
        or ("MANIFEST" in said and not {"WORKER_KEY"} <= set(said) <= needed | others)
        or ("WORKER_KEY" in said and not {"MANIFEST", "TPM"} & set(said))
        or ("TPM" not in said and of_tpm & set(said))
    ):
        raise ConfigurationError(
            'EDNA["MONITOR"] must be a dictionary with "ADDRESS", "PUBLIC_KEY", and "CLAUSES", a file; perhaps with '
            '"CERTIFICATE" and "ATTRIBUTES", files, and for processes that open "MANIFEST" and "WORKER_KEY", two files, or "TPM", where it '
            'is, with "TPM_CERTIFICATE", a file.' + problem
        )
    return said


def has_guardians() -> bool:
    """Whether `edna.guardians` is installed, and there are guardians."""
    return _read("GUARDIANS") is not None and django_apps.is_installed("edna.guardians")
