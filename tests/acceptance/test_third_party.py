"""The specifications on the page about packages of others, as far as these packages are installed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.acceptance import newcomer

PAGE = newcomer.ROOT / "docs/howto-third-party.md"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[newcomer.Project]:
    made = newcomer.Project(tmp_path)
    yield made
    made.close()


CLUB = """
from django.contrib.auth.models import User
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from oauth2_provider.models import AccessToken, Application
from rest_framework.authtoken.models import Token
from django.core import serializers
from django.core.management import call_command
from django.utils import timezone
import edna

call_command("migrate", verbosity=0)
call_command("check", tags=["edna"])

def rows():
    models = User, EmailAddress, SocialAccount, Authenticator, Application, AccessToken, Token
    return {each.__name__: serializers.serialize("json", each.objects.order_by("pk")) for each in models}

bea, carl = (User.objects.create_user(name, f"{name}@example.org") for name in ("beatrix", "carl"))
keys = [edna.register_principal(person).secret_key for person in (bea, carl)]
later = timezone.now() + timezone.timedelta(days=9)
for person in (bea, carl):
    EmailAddress.objects.create(user=person, email=person.email, verified=True)
    SocialAccount.objects.create(user=person, provider="dummy", uid=person.username)
    Authenticator.objects.create(user=person, type="totp", data={"secret": person.username})
    app = Application.objects.create(
        user=person, name=person.username, client_type="confidential", authorization_grant_type="password"
    )
    AccessToken.objects.create(user=carl, application=app, token=f"of {person.username}", expires=later)
    Token.objects.create(user=person)
before = rows()
receipt = edna.disguise("privacy.leave-club", bea)
hidden = str(rows())
print("nothing left:", "beatrix" not in hidden and "carl" in hidden)
with edna.unlock(secret_key=keys[0]) as unlocked:
    print("complete:", edna.reveal(receipt, unlocked).complete)
after = rows()
print("other than before:", [name for name in before if after[name] != before[name]])
print(list(AccessToken.objects.values_list("token", flat=True)), Token.objects.count())
"""


@pytest.mark.slow
@pytest.mark.once
def test_the_specification_of_a_club_holds_for_the_packages_that_are_here(project: newcomer.Project) -> None:
    """Without the steps on tables of what is not installed."""
    (club,) = [code for _, _, code in newcomer.BLOCK.findall(PAGE.read_text()) if "class LeaveClub" in code]
    allauth = [f"allauth.{name}" for name in ("account", "socialaccount", "mfa", "usersessions")]
    others = ["oauth2_provider", "rest_framework", "rest_framework.authtoken"]
    applications = ["django.contrib.sites", "allauth", *allauth, *others, "edna", "privacy"]
    settings = (
        f"INSTALLED_APPS += {applications}\n"
        'MIDDLEWARE += ["allauth.account.middleware.AccountMiddleware", "edna.middleware.EdnaMiddleware"]\n'
        'EDNA = {"MAC_KEYS": ["0123456789abcdef" * 4]}\n'
        'DATABASES["default"]["OPTIONS"] = {"init_command": "PRAGMA secure_delete=ON", "transaction_mode": "IMMEDIATE"}\n'
    )
    project.write("mysite/settings.py", settings, append=True)
    steps, reduced = without_missing(club)
    assert steps > 15
    project.write("privacy/disguises.py", reduced)
    project.write("club.py", CLUB)
    said = project.run("DJANGO_SETTINGS_MODULE=mysite.settings python -c 'import django; django.setup(); import club'")
    assert said.splitlines() == [
        "System check identified no issues (0 silenced).",
        "nothing left: True",
        "complete: True",
        "other than before: ['AccessToken', 'Token']",
        "['of carl'] 1",
    ]


def without_missing(code: str) -> tuple[int, str]:
    """A module of disguises without what it says of packages that are not installed, and how many steps are left."""
    module = ast.parse(code)
    missing: set[str] = set()
    for node in [*module.body]:
        if isinstance(node, ast.ImportFrom) and find_spec(str(node.module).partition(".")[0]) is None:
            missing |= {str(node.module).partition(".")[0], *(each.name for each in node.names)}
            module.body.remove(node)
    for node in [each for each in module.body if isinstance(each, ast.Assign)]:
        if _names(node) & missing:
            missing |= _names(node)
            module.body.remove(node)
    steps = 0
    for each in ast.walk(module):
        if isinstance(each, ast.List) and any(isinstance(item, ast.Call) for item in each.elts):
            each.elts = [item for item in each.elts if not _names(item) & missing]
            steps += len(each.elts)
        elif isinstance(each, ast.Dict):
            pairs = [
                (key, value)
                for key, value in zip(each.keys, each.values, strict=True)
                if key and not _names(key) & missing
            ]
            each.keys, each.values = [key for key, _ in pairs], [value for _, value in pairs]
    return steps, ast.unparse(module)


def _names(node: ast.AST) -> set[str]:
    texts = {str(each.value).partition(".")[0] for each in ast.walk(node) if isinstance(each, ast.Constant)}
    return texts | {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
