"""One URL names the database: `EDNA_DATABASE_URL`.

sqlite:///relative.sqlite3   sqlite:////absolute.sqlite3
mysql://user:password@host:3306/name   mysql://user@/name?socket=/run/mysqld/mysqld.sock     (`mariadb` is the same)
postgres://user:password@host:5432/name   postgres://user@/name?socket=/run/postgresql       (`postgresql` is the same)
"""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

SQLITE_OPTIONS: dict[str, Any] = {
    # secure_delete overwrites deleted content with zeros: without it, a disguised row stays readable in the file's free pages.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
    # A transaction that starts by reading and then writes cannot wait for the lock; one that starts IMMEDIATE can.
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
}
MARIADB_OPTIONS: dict[str, Any] = {
    "charset": "utf8mb4",
    "isolation_level": "read committed",
    "init_command": "SET sql_mode='STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
}


def from_url(url: str, *, base: Path) -> dict[str, Any]:
    """Django's description of the database that `url` names; a relative SQLite path starts at `base`."""
    parts = urlsplit(url)
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme == "sqlite" and name and not parts.netloc:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(base / name), "OPTIONS": dict(SQLITE_OPTIONS)}
    if parts.scheme in {"mysql", "mariadb"}:
        engine, options = "django.db.backends.mysql", dict(MARIADB_OPTIONS)
        test = {"CHARSET": "utf8mb4"}
    elif parts.scheme in {"postgres", "postgresql"}:
        engine, options, test = "django.db.backends.postgresql", {}, {}
    else:
        raise ImproperlyConfigured(
            "EDNA_DATABASE_URL must start with sqlite:///, mysql:// or postgres:// and name a database."
        )
    if not name:
        raise ImproperlyConfigured("EDNA_DATABASE_URL names no database: its path is empty.")
    socket = parse_qs(parts.query).get("socket", [""])[0]
    return {
        "ENGINE": engine,
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": socket or parts.hostname or "",  # both drivers take a path here for a socket
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
        "TEST": test,
    }
