"""What edna's commands share, so that each of them reads as what it does.

Results go to stdout and nothing else does: prose, progress and questions go to stderr. Exit codes: 0 done, 1 refused
(one sentence that says what to do), 2 wrong usage, 3 done in part; 4 (`edna_verify` alone) damage. Secrets are never taken from
the command line. Of several databases each is gone through, or the one that is named.
A little long: what all commands say alike is in one place.
"""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Final

from django.core.checks import run_checks
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    DjangoHelpFormatter,
    SystemCheckError,
)
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError
from django.db.models import Model

from edna import conf, registry, shards
from edna.errors import ConfigurationError, EdnaError
from edna.spec import parsed_params
from edna.words import count

REFUSED: Final = 1
USAGE: Final = 2
PARTIAL: Final = 3
DAMAGED: Final = 4


class _Help(argparse.RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """Django's options last, our examples as they were written."""


class _Encoder(DjangoJSONEncoder):
    def default(self, o: Any) -> Any:
        if isinstance(o, (bytes, memoryview)):
            return bytes(o).hex()
        return super().default(o)


class EdnaCommand(BaseCommand):
    """A command whose refusals are sentences. Subclasses write ``run``, ``help`` and ``examples``."""

    examples: ClassVar[str]
    #: Whether what it does is an operator's act, which the audit trail notes under the name of whoever typed it.
    noted: ClassVar[bool] = False
    #: Whether it is for all there is, so that on a site with several databases it is done in each, unless --database names one.
    in_each: ClassVar[bool] = False
    statuses: ClassVar[str] = "0 done, 1 refused, 2 wrong usage, 3 done in part"
    #: What was printed as JSON, by database, where it is done in several.
    _documents: dict[str, Any] | None = None
    requires_system_checks: Any = ()

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        epilog = f"examples:\n{self.examples}\n\nexit status: {self.statuses}"
        return super().create_parser(prog_name, subcommand, epilog=epilog, formatter_class=_Help, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        if self.noted:
            parser.add_argument(
                "--operator",
                default="",
                help="Who you are, for the audit trail; your name on this machine unless given.",
            )
        parser.add_argument("--json", action="store_true", help="Print one JSON document instead of text.")
        if settings_name_several() and "--database" not in parser._option_string_actions:
            parser.add_argument(
                "--database",
                metavar="ALIAS",
                help='Only in this one of EDNA["DATABASES"]' + (" (default: in each)." if self.in_each else "."),
            )

    def handle(self, *args: Any, **options: Any) -> None:
        several = settings_name_several()
        # edna_audit takes several, and the person is in the first.
        named = options.get("database") if several else None
        chosen = named[0] if isinstance(named, list) and named else named
        if chosen:
            with self._refusals(), shards.on(chosen):
                self.run(options)
        elif several and self.is_for_each(options):
            self._in_each(several, options)
        else:
            with self._refusals():
                self.run(options)

    def is_for_each(self, options: dict[str, Any]) -> bool:
        return self.in_each

    @property
    def is_in_each(self) -> bool:
        """Whether it is being done in each of several databases."""
        return self._documents is not None

    def _in_each(self, aliases: Sequence[str], options: dict[str, Any]) -> None:
        """
        Raises:
            CommandError: it was refused in one of them, or not all was done; the others were gone through all the same.
        """
        self._documents, refusals = {}, {}
        for alias in aliases:
            self._documents[alias] = None
            if not options["json"]:
                self.stdout.write(f"{alias}:")
            try:
                with self._refusals(), shards.at(alias):
                    self.run(options)
            except CommandError as error:
                refusals[alias] = error
        if options["json"]:
            self.stdout.write(json.dumps({"databases": self._documents}, indent=2, cls=_Encoder))
        codes = {error.returncode for error in refusals.values()}
        if refusals:
            all_alike = len(refusals) == len(aliases) and len(codes) == 1
            code = DAMAGED if DAMAGED in codes else codes.pop() if all_alike else PARTIAL
            raise CommandError("\n".join(f"{alias}: {error}" for alias, error in refusals.items()), returncode=code)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except EdnaError as error:
            raise CommandError(sentence(error), returncode=REFUSED) from error
        except OSError as error:
            raise CommandError(
                f"Writing failed ({error.strerror}); what could not be handed over was not done.", returncode=REFUSED
            ) from error
        except DatabaseError as error:
            # Its own text may quote a statement, and with it values.
            raise CommandError(
                f"The database refused ({type(error).__name__}), and undid what was not finished. Is it reachable, are "
                "all migrations applied (manage.py migrate), is another process holding a lock or writing the same rows? "
                "--traceback says more.",
                returncode=REFUSED,
            ) from error

    def check(
        self, *args: Any, tags: Sequence[str] | None = None, databases: Sequence[str] | None = None, **kwargs: Any
    ) -> None:
        """As Django's, but for what does not stop the command: that is told in one line.

        Raises:
            SystemCheckError: there are errors; it has these alone.
        """
        issues = [each for each in run_checks(tags=tags, databases=databases) if not each.is_silenced()]
        errors = [each for each in issues if each.is_serious()]
        # Only what was asked for: other tags would tell more.
        tagged = "".join(f" --tag {tag}" for tag in tags or ())
        rest = ""
        if lighter := len(issues) - len(errors):
            what = f"{count(lighter, 'further remark')}" if errors else count(lighter, "remark")
            rest = f"{what} of the system checks: manage.py check{tagged}."
        if errors:
            text = "\n".join(self.style.ERROR(str(each)) for each in errors)
            raise SystemCheckError(
                f"Not run: the system checks found {count(len(errors), 'error')}.\n{text}\n{rest}".rstrip()
            )
        if rest:
            self.say(rest)

    def run(self, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def say(self, text: str) -> None:
        """To whoever is watching: stdout holds nothing but the result."""
        self.stderr.write(text, str)

    def print_json(self, document: dict[str, Any]) -> None:
        at_work = shards.at_work.get()
        if self._documents is not None and at_work is not None:
            self._documents[at_work] = document
        else:
            self.stdout.write(json.dumps(document, indent=2, cls=_Encoder))

    def ask_for(self, word: str, question: str) -> None:
        """
        Raises:
            CommandError: something else was typed.
        """
        self.stderr.write(f"{question} Type {word}: ", str, ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() != word.lower():
            raise CommandError(
                "Not confirmed; nothing was changed. (--yes goes on without asking.)", returncode=REFUSED
            )

    def show_progress(self, done: int, total: int, *, note: str = "") -> None:
        """One line that fills up on a terminal; otherwise a line for each batch. ``note`` is how fast it goes, and such."""
        words = f"{done} of {total}" + (f", {note}" if note else "")
        if not self.stderr.isatty():
            self.say(words)
            return
        filled = 40 * done // max(total, 1)
        bar = f"\r[{'#' * filled}{' ' * (40 - filled)}] {words}" + ("\x1b[K" if note else "")
        self.stderr.write(bar, str, ending="\n" if done >= total else "")
        self.stderr.flush()


def settings_name_several() -> tuple[str, ...]:
    """The databases that people are in, if these are several; none, too, where the setting is wrong, which the checks say."""
    try:
        return conf.databases()
    except (ConfigurationError, TypeError, AttributeError):
        return ()


def operator_of(options: dict[str, Any]) -> str:
    """Who types this: the name that they give, or theirs on this machine."""
    if options["operator"]:
        return str(options["operator"])
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""


def sentence(error: Exception) -> str:
    """With a capital letter, unless it begins with a name such as ``shop.delete-account``."""
    text = str(error)
    word = text.partition(" ")[0].rstrip(".,:;")
    return (text if "." in word else text[:1].upper() + text[1:]) + ("" if text.endswith(".") else ".")


def usage(text: str) -> CommandError:
    return CommandError(text, returncode=USAGE)


def need_operations(option: str) -> None:
    """
    Raises:
        CommandError: `edna.operations`, which alone does what the option asks for, is not installed.
    """
    if not conf.has_operations():
        raise usage(f'{option} needs "edna.operations" in INSTALLED_APPS, and its tables (manage.py migrate).')


# Arguments


def add_disguise_arguments(parser: CommandParser) -> None:
    parser.add_argument("name", metavar="NAME", help="The name of the disguise, for example shop.delete-account.")
    whom = parser.add_mutually_exclusive_group(required=True)
    whom.add_argument(
        "--principal",
        metavar="WHO",
        help="One person: the primary key, the name they log in with, or their e-mail address. pk:42 if 42 could be several of these.",
    )
    whom.add_argument("--all", action="store_true", dest="everyone", help="Everybody who owns such rows.")
    parser.add_argument(
        "--include-staff",
        action="store_true",
        help='With --all: those who run the site, too (is_staff or is_superuser, or EDNA["STAFF"]); otherwise they are left out.',
    )
    parser.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=pair,
        help="A parameter of the disguise; repeat it for several. Dates: 2026-01-31. Truth values: true, false.",
    )


def pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def params_of(name: str, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    texts = dict(pairs)
    if len(texts) != len(pairs):
        raise usage("A --param was given twice; name each parameter once.")
    return parsed_params(registry.get(name), texts)


def find_principal(model: type[Model], text: str) -> Model:
    """The row of ``model`` with this primary key, natural key (its log-in name, for a user model) or e-mail address."""
    using = registry.database(model)
    certain = text.startswith("pk:")
    found: dict[Any, Model] = {}
    with suppress(ObjectDoesNotExist, ValidationError, ValueError, TypeError, OverflowError):
        key = model._meta.pk.to_python(text.removeprefix("pk:"))
        row: Model = model._base_manager.using(using).get(pk=key)
        found[row.pk] = row
    manager: Any = model._default_manager.db_manager(using)
    if not certain and hasattr(manager, "get_by_natural_key"):
        with suppress(ObjectDoesNotExist, TypeError, ValueError):
            row = manager.get_by_natural_key(text)
            found[row.pk] = row
    addressed = [] if certain else list(_with_address(model, text, using=using))
    if len(addressed) > 1:
        raise CommandError(f"Several {model._meta.label} have this e-mail address: name one by primary key, pk:42.")
    found |= {row.pk: row for row in addressed}
    if len(found) > 1:
        raise CommandError(
            f"{text!r} is the primary key, the name or the e-mail address of one {model._meta.label}, and another of these of "
            f"another: write pk:{text} if it is the primary key, or name who is meant by theirs."
        )
    if not found:
        raise CommandError(f"No {model._meta.label} has the primary key, name or e-mail address {text!r}.")
    (row,) = found.values()
    return row


def _with_address(model: type[Model], text: str, *, using: str) -> Iterable[Model]:
    """Two at most."""
    name = getattr(model, "EMAIL_FIELD", "") or "email"
    if "@" not in text or name not in {field.name for field in model._meta.concrete_fields}:
        return []
    return model._base_manager.using(using).filter(**{name: text})[:2]


def find_the_only_principal(models: Sequence[type[Model]], who: str) -> Model:
    """The one person of whom ``who`` can be said: 7 may be somebody in each of several models."""
    found, missing = [], None
    for model in models:
        try:
            found.append(find_principal(model, who))
        except CommandError as error:
            missing = missing or error
    if not found and missing is not None:
        raise missing
    if len(found) > 1:
        labels = ", ".join(each._meta.label for each in found)
        raise usage(f"{who} is somebody in several models; say which with --model: {labels}.")
    return found[0]


def chosen_principal_models(label: str | None) -> list[type[Model]]:
    models = registry.principal_models()
    if label is None:
        return models
    chosen = [model for model in models if model._meta.label_lower == label.lower()]
    if not chosen:
        known = ", ".join(model._meta.label for model in models)
        raise CommandError(f"{label} is no principal model. Principal models: {known}.")
    return chosen


# Input and output


def read_stdin() -> str:
    return sys.stdin.read()


def asked(what: str, ask: Callable[[str], str], *, instead: str) -> str:
    """What somebody answers to ``ask``, which is `input` or `getpass.getpass`. ``instead`` is the option for where nobody sits."""
    try:
        return ask(what)
    except EOFError:
        raise usage(f"Nobody is there to answer; {instead} says it.") from None


def new_private_file(path: str) -> Any:
    """A new file that nobody else may read. Never an existing one: it may hold somebody's only key."""
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8")
    except FileExistsError:
        raise CommandError(f"{path} exists already; name a new file.") from None
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None


def remove_if_empty(path: str) -> None:
    with suppress(OSError):
        if not os.path.getsize(path):
            os.unlink(path)


def write_through(file: Any, text: str) -> None:
    """Return only when it is on the disk: what follows may make it irreplaceable."""
    file.write(text)
    file.flush()
    os.fsync(file.fileno())


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns of text, as wide as they need."""
    lines = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "\n".join(
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
