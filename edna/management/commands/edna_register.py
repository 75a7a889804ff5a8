"""``manage.py edna_register``: give keys to users who have none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Final

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY, get_user_model, load_backend
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessions
from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser
from django.db import router, transaction
from django.db.models import Model
from django.utils import timezone

from edna import api, conf, inner_door, registry, shards
from edna.errors import PrincipalAlreadyRegistered, PrincipalError
from edna.management.base import (
    EdnaCommand,
    chosen_principal_models,
    find_the_only_principal,
    new_private_file,
    operator_of,
    remove_if_empty,
    usage,
    write_through,
)

_BATCH: Final = 500


class Command(EdnaCommand):
    noted = True
    help = (
        "Give a key to users who have none, so that their data can be disguised: for a project that adopts edna with "
        "users in it.\n\nThe keys are made here, shown or written once, and kept nowhere else. Whoever holds a user's "
        "key can reveal their data;\nwithout it nobody can. Hand each key to its user, then delete the file."
    )
    examples = "  manage.py edna_register bea@example.org\n  manage.py edna_register --all --keys-file keys.jsonl"

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "principal",
            metavar="WHO",
            nargs="?",
            help="One person: the primary key, the name they log in with, or their e-mail address. Prints secret key and recovery code.",
        )
        parser.add_argument("--all", action="store_true", dest="everyone", help="Everybody who has no key.")
        parser.add_argument(
            "--keys-file",
            metavar="FILE",
            help="With --all: a new file, readable by you only; it gets a line of JSON with the secret key of each user.",
        )
        parser.add_argument(
            "--model",
            help="The principal model, if there are several (default: each of them; WHO must be in one only).",
        )
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        if bool(options["principal"]) == options["everyone"]:
            raise usage("Say whom to register: WHO or --all, and not both.")
        if options["everyone"] and not options["keys_file"]:
            raise usage("--all needs --keys-file FILE: keys that nobody keeps would make every disguise irreversible.")
        if options["keys_file"] and not options["everyone"]:
            raise usage("--keys-file goes with --all; the key of one person is printed.")
        models = chosen_principal_models(options["model"])
        if options["everyone"]:
            self._everyone(models, options)
        else:
            self._one(find_the_only_principal(models, options["principal"]), options)

    def _one(self, principal: Model, options: dict[str, Any]) -> None:
        model = registry.principal_model_of(principal)
        # Shown before the commit: a key that was registered and not seen by anybody would be lost.
        with transaction.atomic(using=registry.database(model)):
            made = api.register_principal(principal)
            inner_door.note_act("register", operator=operator_of(options), principals=1)
            assert made.secret_key is not None
            document = {
                "model": model._meta.label_lower,
                "principal": str(principal.pk),
                "secret_key": made.secret_key.expose_text(),
                "recovery_code": str(made.recovery_code),
            }
            if options["json"]:
                self.print_json(document)
            else:
                self.stdout.write(
                    f"secret key:    {document['secret_key']}\nrecovery code: {document['recovery_code']}"
                )
            self.stdout.flush()
        if not options["json"]:
            self.say("Hand both to the person they belong to: they are kept nowhere, and either opens what is sealed.")

    def _everyone(self, models: Sequence[type[Model]], options: dict[str, Any]) -> None:
        path, registered, present = options["keys_file"], 0, 0
        file = new_private_file(path)
        try:
            with file:
                for model in models:
                    total, done = model._base_manager.using(registry.database(model)).count(), 0
                    for batch in _batches(model):
                        made = self._register(model, batch, file, operator=operator_of(options))
                        registered, present, done = registered + made, present + len(batch) - made, done + len(batch)
                        self.show_progress(done, max(done, total))
        finally:
            remove_if_empty(path)
        linked = _link_sessions(models)
        if options["json"]:
            self.print_json(
                {
                    "registered": registered,
                    "registered_before": present,
                    "sessions_linked": linked,
                    "keys_file": path if registered else None,
                }
            )
            return
        self.stdout.write(
            f"Registered {registered}{shards.in_words()}; {present} had a key before. Linked {linked} sessions."
        )
        if registered:
            self.stdout.write(f"Their keys are in {path}: hand each to its user, then delete the file.")

    @staticmethod
    def _register(model: type[Model], batch: Sequence[Model], file: Any, *, operator: str) -> int:
        """Register those of ``batch`` who have no key. A key is in the file before it counts."""
        with transaction.atomic(using=registry.database(model)):
            try:
                missing = batch
                made = api.register_principals(missing)
            except PrincipalAlreadyRegistered:
                missing = api.unregistered(batch)
                made = api.register_principals(missing)
            lines = []
            for principal, registration in zip(missing, made, strict=True):
                assert registration.secret_key is not None
                document = {
                    "model": model._meta.label_lower,
                    "principal": str(principal.pk),
                    "secret_key": registration.secret_key.expose_text(),
                }
                lines.append(json.dumps(document) + "\n")
            write_through(file, "".join(lines))
            if made:
                inner_door.note_act("register", operator=operator, principals=len(made))
        return len(made)


def _batches(model: type[Model]) -> Iterator[list[Model]]:
    """All rows in the order of their keys, a few at a time: others may write in between."""
    query = model._base_manager.using(registry.database(model)).order_by("pk")
    batch = list(query[:_BATCH])
    while batch:
        yield batch
        batch = list(query.filter(pk__gt=batch[-1].pk)[:_BATCH])


def _link_sessions(models: Sequence[type[Model]]) -> int:
    """Note whose the sessions are that began before edna could: they end when their user is removed."""
    engine = import_module(settings.SESSION_ENGINE).SessionStore
    if not issubclass(engine, DatabaseSessions):
        return 0
    linked, model = 0, engine.get_model_class()
    whose: dict[str | None, type[Model] | None] = {None: get_user_model()}
    sessions = model._base_manager.using(router.db_for_write(model)).filter(expire_date__gt=timezone.now())
    for session in sessions.iterator(chunk_size=_BATCH):
        content = session.get_decoded()
        key, backend = content.get(SESSION_KEY), content.get(BACKEND_SESSION_KEY)
        if key is not None and whose.get(backend) is None:
            whose[backend] = _model_of(backend, key)
        users = whose.get(backend)
        if key is None or users is None or users not in models:
            continue
        try:
            user = users(pk=users._meta.pk.to_python(key)) if not conf.databases() else _here(backend, users, key)
        except ValidationError:
            continue
        if user is None:
            continue
        inner_door.end_sessions_on_removal(user, session.session_key)
        linked += 1
    return linked


def _here(path: str, users: type[Model], key: str) -> Model | None:
    """Of several databases: whose session it is, if they are in the one at work. Their key alone does not tell, and the backend does."""
    user = load_backend(path).get_user(users._meta.pk.to_python(key))
    try:
        return user if isinstance(user, users) and registry.database_of(user, users) == registry.database() else None
    except PrincipalError:
        return None


def _model_of(path: str, key: str) -> type[Model] | None:
    """Whose sessions this backend makes: where there are several principal models, the same key is somebody else in each."""
    if path not in settings.AUTHENTICATION_BACKENDS:
        return None
    backend = load_backend(path)
    if isinstance(backend, ModelBackend):
        return get_user_model()
    try:
        user = backend.get_user(get_user_model()._meta.pk.to_python(key))  # as Django asks it
        return None if user is None else registry.principal_model_of(user)
    except (PrincipalError, ValidationError):
        return None
