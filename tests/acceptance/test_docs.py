"""The documentation is true: its code runs, its links lead somewhere, nothing public is left out.

A code block says by itself what happens to it, in the order of the page: ``file=PATH`` is that file of a new Django project,
``append=PATH`` is added to it, ``sh run`` is run there, ``sh fails`` must fail there, ``python run`` is pasted into its `manage.py shell`,
and ``text output`` must be what the block before it printed (``…`` stands for anything). A block without a mark is only for reading.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

import edna
from apps.showcase.tests.walker import Walker
from edna import audiences, policies
from tests import warm
from tests.acceptance import errors_page, newcomer
from tests.pages.bare import policy

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
WRITTEN = [page for page in PAGES if page.exists()]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[newcomer.Project]:
    made = newcomer.Project(tmp_path, python=warm.python())
    made.environment["DJANGO_SETTINGS_MODULE"] = "tests.acceptance.quick_hashes"
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/tutorial.md",
        "docs/howto-add-edna.md",
        "docs/howto-write-a-disguise.md",
        "docs/howto-pages.md",
        "docs/howto-values.md",
        "docs/howto-rest-framework.md",
        "docs/howto-allauth.md",
        "docs/howto-trees.md",
        "docs/howto-logins.md",
        "docs/howto-axes.md",
        "docs/howto-guardian.md",
        "docs/howto-import-export.md",
        "docs/howto-histories.md",
        "docs/howto-thumbnails.md",
        "docs/howto-search.md",
        "docs/howto-test-your-disguises.md",
        "docs/devices.md",
        "docs/low-level.md",
        "docs/references.md",
        "docs/several-principal-models.md",
    ],
)
def test_the_page_can_be_followed_in_a_shell(page: str, project: newcomer.Project) -> None:
    assert project.follow(page) >= 3


@pytest.mark.slow
@pytest.mark.only_on("postgresql")
def test_the_page_about_search_in_postgresql_can_be_followed(project: newcomer.Project, django_db_blocker: Any) -> None:
    """In a database of its own."""
    name, server = "edna_docs_search", connection.settings_dict
    with django_db_blocker.unblock(), connection._nodb_cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {name}")
        cursor.execute(f"CREATE DATABASE {name}")
        try:
            words = {"HOST": "PGHOST", "PORT": "PGPORT", "USER": "PGUSER", "PASSWORD": "PGPASSWORD"}
            project.environment |= {said: str(server[key]) for key, said in words.items() if server[key]}
            project.environment["PGDATABASE"] = name
            assert project.follow("docs/howto-search-postgres.md") >= 3
        finally:
            project.close()
            cursor.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.mark.slow
def test_without_its_key_a_new_project_says_what_to_do(project: newcomer.Project) -> None:
    settings = re.search(
        r"^```python append=mysite/settings.py\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S
    )
    assert settings is not None
    project.write("mysite/settings.py", settings[1].replace(', "notes"', ""), append=True)
    said = project.run("env -u EDNA_MAC_KEY python manage.py migrate", fails=True)
    assert "Traceback" not in said
    assert "export EDNA_MAC_KEY=" in said
    project.run("python manage.py migrate && python manage.py check --database default")
    said = project.run("EDNA_MAC_KEY=$(openssl rand -hex 32) python manage.py check --database default", fails=True)
    assert "edna.E059" in said
    assert "Put the key back" in said


@pytest.mark.slow
def test_under_a_wrong_key_of_the_server_people_still_log_in(project: newcomer.Project) -> None:
    project.follow("docs/howto-add-edna.md", until="### All at once, by a file")
    project.close()
    said = project.run(
        """python manage.py shell -c "
from django.test import Client
answer = Client(headers={'host': 'localhost'}).post('/login/', {'username': 'carl', 'password': 'a long walk home, carl'})
print(answer.status_code, answer.wsgi_request.user)" """,
        EDNA_MAC_KEY="fedcba9876543210" * 4,
    )
    assert "302 carl" in said
    assert "Somebody logged in and got no key" in said


class Newcomer(Walker):
    namespace = "tutorial"


@pytest.mark.slow
@pytest.mark.browser
def test_the_pages_of_the_tutorial_can_be_clicked(project: newcomer.Project, page: Any) -> None:
    """Whatever may be clicked leads to a page."""
    project.follow("docs/tutorial.md", pasting=False)
    refused: list[str] = []
    page.on("response", lambda answer: answer.status >= 400 and refused.append(f"{answer.status} {answer.url}"))
    password = "a long walk home, dora"

    def links() -> list[str]:
        found = [link.get_attribute("href") for link in page.get_by_role("link").all()]
        return [link for link in found if not link.startswith("#")]

    def leads_somewhere() -> bool:
        return [link for link in links() if not page.request.get(f"{site}{link}").ok] == []

    with project.served() as site:
        dora = Newcomer(page, site)

        def fills_and_presses(button: str, **fields: str) -> None:
            dora.fill(**fields)
            dora.press(button)

        page.goto(f"{site}/register/")
        fills_and_presses("Go on", username="dora", password1=password, password2=password)
        assert leads_somewhere()
        fills_and_presses("Go on", username="dora", password=password)
        dora.sees("Your data on this site")
        assert leads_somewhere()
        dora.follow("Make a recovery code")
        fills_and_presses("Make a recovery code", password=password)
        code = re.search(r"(\w{4}-){6}\w{4}", page.locator("body").inner_text())[0]  # type: ignore[index]
        assert leads_somewhere()
        page.goto(f"{site}/privacy/")
        dora.follow("Delete your account")
        fills_and_presses("Delete your account", password=password)
        dora.sees("Good-bye")
        assert leads_somewhere()
        page.goto(f"{site}/login/")
        dora.follow("Return")
        fills_and_presses("Bring my account back", identifier="dora", password="wrong")
        dora.sees("This does not open your key.")
        fills_and_presses("Bring my account back", identifier="dora", password=password)
        dora.sees("It is back")
        assert leads_somewhere()
        page.goto(f"{site}/login/")
        dora.follow("Forgot your password?")
        new = {"new_password": "a longer walk", "again": "a longer walk"}
        fills_and_presses("Set the password", recovery_code=code, **new)
        dora.sees("Your password is set")
        page.goto(f"{site}/login/")
        fills_and_presses("Go on", username="dora", password="a longer walk")
        dora.sees("Your data on this site")
    assert [answer for answer in refused if not answer.endswith("favicon.ico")] == []


def test_the_policies_are_those_under_which_the_pages_are_tested() -> None:
    blocks = re.findall(r"^```text\n(default-src.*?)^```$", (DOCS / "howto-pages.md").read_text(), re.M | re.S)
    assert [" ".join(block.split()) for block in blocks] == [policy.POLICY, policy.WITH_NONCES]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        if not other.exists() or (anchor and anchor not in anchors(other)):
            broken.append(target)
    assert broken == []


def anchors(page: Path) -> set[str]:
    """The names that code forges give to headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_index() -> None:
    index = (DOCS / "index.md").read_text()
    missing = [
        str(page.relative_to(DOCS))
        for page in DOCS.rglob("*.md")
        if page.name != "index.md" and f"({page.relative_to(DOCS)})" not in index
    ]
    assert missing == []


def test_every_public_name_is_documented() -> None:
    text = (DOCS / "api.md").read_text()
    assert [name for name in edna.__all__ if f"`edna.{name}" not in text] == []
    public = [name for name, value in vars(edna.placeholders).items() if is_made_there(value, "edna.placeholders")]
    assert [
        name for name in public if f"`{name}(" not in text and name[0] not in "_P" and name != "as_placeholder"
    ] == []


def test_every_public_name_of_optional_applications_is_documented() -> None:
    """With the names of its parameters, but for a key and what stands first in all."""
    text = (DOCS / "api.md").read_text()
    missing = []
    for module, called in ((audiences, "audiences"), (policies, "policies")):
        for name in module.__all__:
            found = getattr(module, name)
            said = re.search(rf"`{re.escape(called)}\.{name}(?:\((.*?)\))?`", text)
            wanted = [] if inspect.isclass(found) else list(inspect.signature(found).parameters)
            given = re.findall(r"(\w+)(?:=[^,]+)?(?:, |$)", said[1] or "") if said else []
            if said is None or given != [{"secret_key": "key"}.get(each, each) for each in wanted]:
                missing.append((name, given, wanted))
    assert missing == []


def is_made_there(value: object, module: str) -> bool:
    return callable(value) and getattr(value, "__module__", "") == module


def test_the_page_of_errors_says_what_the_classes_say() -> None:
    assert (DOCS / "errors.md").read_text() == errors_page.page(), errors_page.__doc__


def test_every_setting_is_documented() -> None:
    from edna import conf

    text = "".join(page.read_text() for page in DOCS.rglob("*.md"))
    assert [name for name in conf.DEFAULTS if f"`{name}`" not in text and f'EDNA["{name}"]' not in text] == []
