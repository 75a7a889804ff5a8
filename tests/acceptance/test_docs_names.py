"""What the documentation calls by name is there: modules, files, commands, tables, settings, check ids, targets of `make`.

The changelog is left out: it may speak of what is gone.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import django
import pytest
from django.apps import apps
from django.core.management import get_commands

import edna
from edna import conf

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
DJANGO = Path(django.__file__).parent
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "edna").rglob("*.py")))
SCRIPTS = "\n".join(path.read_text() for path in sorted((ROOT / "edna" / "static" / "edna" / "js").rglob("*.js")))

CODE = SOURCE + SCRIPTS
SOURCE_WORDS = frozenset(re.findall(r"\w+", SOURCE))

MODELS = {
    model._meta.model_name: model
    for label in ("edna", "edna_operations")
    for model in apps.get_app_config(label).get_models()
}
CODENAMES = {
    codename
    for name, model in MODELS.items()
    for codename in (
        *(f"{action}_{name}" for action in model._meta.default_permissions),
        *(codename for codename, _ in model._meta.permissions),
    )
}
TABLES = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}

ROOMS = "edna|apps|tests|benchmarks|loadtest|config|docs"
INNER = "engine|store|operations|records|crypto|custody|checks|management"  # decisions speak of these without `edna/`
FILE = re.compile(rf"(?<![\w/.-])((?:{ROOMS}|{INNER})/[\w./-]*\w)")
DOTTED = re.compile(r"(?<![\w/.@-])(edna(?:\.\w+)+)\b(?![-:…])")
WORD = re.compile(r"(?<![\w/])((?:edna|websubmit|lobsters|hotcrp)_[a-z]\w*)\b")
MODULE = re.compile(rf"`(?:edna\.)?((?:{INNER}|db)\.(?!js`)\w+(?:\.\w+)*)`")
SETTING = re.compile(r'EDNA\["(\w+)"\]')
TARGET = re.compile(r"\bmake ([a-z][a-z-]*)\b(?=`|\s+#|\s*$|\s+[A-Z]+=)", re.MULTILINE)
#: Files of the reader's.
EXAMPLES = {"edna.export"}


def there_is_file(name: str) -> bool:
    # Templates and static files are called as Django finds them.
    inside = [folder / name for folder in (ROOT, *(ROOT / "edna" / part for part in ("", "templates", "static")))]
    return any(path.exists() or path.with_name(f"{path.name}.py").exists() for path in inside)


def there_is_name(name: str) -> bool:
    """Something that can be imported, or a name that the code gives: of a check, a task, a model, a logger, a personalisation."""
    last = name.removeprefix("edna.")
    given = f'"{name}"' in CODE or f'area="{last}"' in SOURCE or last in CODENAMES or last in MODELS
    return given or name in EXAMPLES or can_be_imported(name)


def can_be_imported(name: str) -> bool:
    path, *attributes = name.split(".")
    found: object = importlib.import_module(path)
    for attribute in attributes:
        path = f"{path}.{attribute}"
        try:
            found = getattr(found, attribute) if hasattr(found, attribute) else importlib.import_module(path)
        except ModuleNotFoundError:
            return False
    return True


def there_is_word(name: str) -> bool:
    """A command, a table, an application, or a name that the code gives: of a metric, to which Prometheus adds what a counter ends in."""
    given = name.removesuffix("_total") in SOURCE_WORDS or name in apps.app_configs
    return given or name in get_commands() or name in TABLES


def there_is_target(name: str) -> bool:
    return re.search(rf"^{name}:", (ROOT / "Makefile").read_text(), re.MULTILINE) is not None


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.exists()], ids=lambda page: str(page.relative_to(ROOT))
)
def test_what_the_page_names_is_there(page: Path) -> None:
    text = page.read_text()
    missing = [name for name in FILE.findall(text) if not there_is_file(name)]
    missing += [name for name in DOTTED.findall(text) if not there_is_name(name)]
    missing += [name for name in MODULE.findall(text) if not can_be_imported(f"edna.{name}")]
    missing += [name for name in WORD.findall(text) if not there_is_word(name)]
    missing += [name for name in SETTING.findall(text) if name not in conf.DEFAULTS]
    missing += [name for name in TARGET.findall(text) if not there_is_target(name)]
    assert sorted(set(missing)) == []


def test_the_architecture_names_modules_and_rooms_that_are_there() -> None:
    """It leaves out `edna/`, `engine/` and `operations/`; the tree has rooms with a slash, and modules with their ending or without."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    tree = page.partition("```\n")[2].partition("```")[0]
    named = re.findall(r"`((?:\w+/)*\w+(?:/|\.py))`", page) + re.findall(r"(?<!\S)(\w+(?:/|\.py))(?!\S)", tree)
    assert len(named) > 30
    rooms = (ROOT, ROOT / "edna", ROOT / "edna" / "engine", ROOT / "edna" / "operations")
    assert sorted({name for name in named if not any((room / name).exists() for room in rooms)}) == []
    shown = {name.rstrip("/").removesuffix(".py") for name in re.findall(r"\w+(?:/|\.py)?", tree)}
    modules = (path for path in (ROOT / "edna" / "engine").iterdir() if path.name[0] != "_")
    assert sorted(path.name for path in modules if path.stem not in shown) == []


def test_docstrings_and_comments_name_modules_that_are_there() -> None:
    named = set(MODULE.findall(SOURCE))
    assert len(named) > 10
    assert sorted(name for name in named if not can_be_imported(f"edna.{name}")) == []


def test_the_format_names_every_personalisation() -> None:
    """Each key and each hash has a purpose of its own; the page that is normative lists them."""
    page = (ROOT / "docs" / "format.md").read_text()
    assert [name for name in sorted(set(re.findall(r'b"(edna\.[\w.]+)"', SOURCE))) if name not in page] == []


# docs/glossary.md: the words of which the code makes its names

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
#: Where modules and classes are named after what the glossary explains.
NAMED_ROOMS = ("engine", "records", "store", "operations/store", "custody", "spec.py", "keypool.py", "schedules.py")
#: Words that Django's own models, fields, users and sessions are named with need no explanation.
OF_DJANGO = ("db", "apps", "contrib/auth", "contrib/contenttypes", "contrib/sessions")
#: English that means here what it means everywhere. Whatever could be mistaken for something else belongs into the glossary.
PLAIN_ENGLISH = """
    beside compile current driver engine everything execute find finish follower former further go incoming inspection
    kind known let made measurement move no open other own owner ownership pending plan progress reader registration
    removal search secret seen selection settle staff statistic store taken task told trace undo uniqueness unknown
    write
"""


def words_of(name: str) -> list[str]:
    """The words of an identifier or a phrase, without the endings that make others of them."""
    return [without_ending(word.lower()) for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def without_ending(word: str) -> str:
    for ending, instead in (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) > 2 and not word.endswith(("ss", "as", "us")):
            word = word.removesuffix(ending) + instead
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] in "bgnp" else word


def names_in(place: Path) -> Iterator[str]:
    """Of modules and classes."""
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
        yield path.parent.name if path.stem == "__init__" else path.stem
        yield from re.findall(r"^ *class (\w+)", path.read_text(), re.MULTILINE)


def explained() -> set[str]:
    """The words that the glossary explains."""
    return {word for term in re.findall(r"\*\*([^*]+)\*\*", GLOSSARY) for word in words_of(term)}


def test_the_glossary_explains_the_words_of_the_code() -> None:
    of_django = {word for part in OF_DJANGO for name in names_in(DJANGO / part) for word in words_of(name)}
    known = explained() | of_django | set(words_of(PLAIN_ENGLISH))
    said = [(word, name) for room in NAMED_ROOMS for name in names_in(ROOT / "edna" / room) for word in words_of(name)]
    assert sorted((word, name) for word, name in said if not is_known(word, known)) == []


def is_known(word: str, known: set[str]) -> bool:
    """Also two words in one: names of modules are written so."""
    return word in known or any(
        without_ending(word[:at]) in known and without_ending(word[at:]) in known for at in range(3, len(word) - 2)
    )


def test_no_plain_word_is_explained_or_unused() -> None:
    used = {word for room in NAMED_ROOMS for name in names_in(ROOT / "edna" / room) for word in words_of(name)}
    assert [word for word in PLAIN_ENGLISH.split() if without_ending(word) in explained()] == []
    assert [word for word in PLAIN_ENGLISH.split() if without_ending(word) not in used] == []


def test_the_glossary_explains_what_an_outcome_says() -> None:
    assert [name for name in edna.Outcome().as_dict() if f"**{name}**" not in GLOSSARY] == []
    assert "**reason**" in GLOSSARY
    concepts = (ROOT / "docs" / "concepts.md").read_text()
    assert [reason.name for reason in edna.Reason if f"`{reason.name}`" not in concepts] == []


# docs/invariants.md: the names and numbers that code and tests cite

INVARIANTS = (ROOT / "docs" / "invariants.md").read_text()
NAMES = [name.lower() for name in re.findall(r"^## (.+)", INVARIANTS, re.MULTILINE)][:-1]
PROMISES = [int(number) for number in re.findall(r"^(\d+)\. ", INVARIANTS, re.MULTILINE)]
CITED = re.compile(r"Invariants? \(([^)]+)\)|\(((?:" + "|".join(NAMES) + r")(?:, [^)]+)?)\)")
TESTS = {path: path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py"))}


def test_code_cites_invariants_by_their_names() -> None:
    cited = {name for found in CITED.findall(SOURCE) for name in (found[0] or found[1]).split(", ")}
    assert cited - set(NAMES) == set()
    everywhere = SOURCE + "".join(TESTS.values())
    assert [name for name in NAMES if f"{name})" not in everywhere] == []
    assert re.findall(r"\bDESIGN \d", everywhere.replace("\\d", "")) == []


def sections_of_invariants() -> dict[str, str]:
    """What the page says of each invariant, by its name."""
    _, *sections = re.split(r"^## ", INVARIANTS, flags=re.MULTILINE)
    return {name: text for name, _, text in (section.partition("\n") for section in sections[:-1])}


@pytest.mark.parametrize("name", sections_of_invariants())
def test_each_invariant_names_tests_and_they_are_there(name: str) -> None:
    named = [ROOT / path for path in re.findall(r"`(tests/[\w/.]+)`", sections_of_invariants()[name])]
    assert named
    assert [path for path in named if not holds_tests(path)] == []


def holds_tests(path: Path) -> bool:
    files = path.rglob("test_*.py") if path.is_dir() else [path] if path.exists() else []
    return any(re.search(r"^ *(async )?def test_", file.read_text(), re.MULTILINE) for file in files)


def test_each_promise_is_tested_where_the_page_says() -> None:
    said = INVARIANTS[INVARIANTS.index("## Promises, one by one") :].partition("\n\n1. ")[0]
    found: dict[int, str] = {}
    for numbers, path in re.findall(r"((?:\d+(?: to \d+)?(?:, | and )?)+)\s+(?:are|is) in\s+`([\w/.]+)`", said):
        tests = (ROOT / path).read_text()
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", numbers):
            for number in range(int(first), int(last or first) + 1):
                assert re.search(rf"^def test_{number:02}_", tests, re.MULTILINE), f"{number} is not in {path}"
                found[number] = path
    assert sorted(found) == PROMISES


def test_each_promise_has_tests_that_begin_with_its_number() -> None:
    assert list(range(1, 34)) == PROMISES
    named = {int(number) for text in TESTS.values() for number in re.findall(r"^def test_(\d\d)_", text, re.MULTILINE)}
    assert set(PROMISES) - named == set()
    cited = {
        int(number)
        for text in TESTS.values()
        for found in re.findall(r"\(promises? ([\d, ]+)", text)
        for number in re.findall(r"\d+", found)
    }
    assert cited <= set(PROMISES)
