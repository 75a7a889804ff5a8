"""The specifications on the pages about packages of others, with the real packages: `make test-packages`.

These packages cannot share an environment with each other, or with what the tests need. Without theirs the tests are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance import newcomer

PAGE = newcomer.ROOT / "docs/howto-third-party.md"
STORIES = Path(__file__).parent / "packages"
ENVIRONMENTS = os.environ.get("EDNA_PACKAGES", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.once,
    pytest.mark.skipif(not ENVIRONMENTS, reason="make test-packages makes environments for these packages"),
]

COMMON = """
MIDDLEWARE += ["edna.middleware.EdnaMiddleware"]
EDNA = {"MAC_KEYS": ["0123456789abcdef" * 4]} | globals().get("RANDOM_KEYS", {})
DATABASES["default"]["OPTIONS"] = {"init_command": "PRAGMA secure_delete=ON", "transaction_mode": "IMMEDIATE"}
SITE_ID = 1
"""
GARDEN = """
INSTALLED_APPS += ["django.contrib.sites", "polymorphic", "impersonate", "import_export", "adminsortable2", "crispy_forms"]
INSTALLED_APPS += ["djrichtextfield", "django_select2", "juntagrico", "edna", "privacy"]
"""
MAGAZINE = """
from puput import PUPUT_APPS
INSTALLED_APPS += [*PUPUT_APPS, "edna", "privacy"]
PUPUT_AS_PLUGIN = False
WAGTAIL_SITE_NAME, WAGTAILADMIN_BASE_URL = "Magazine", "http://localhost"
"""
SHOP = """
from oscar.defaults import *
INSTALLED_APPS += ["django.contrib.sites", "django.contrib.flatpages", "oscar.config.Shop"]
SHOP_APPS = "analytics checkout address shipping catalogue communication partner basket payment offer order customer search"
SHOP_APPS += " voucher wishlists dashboard"
INSTALLED_APPS += [f"oscar.apps.{name}.apps.{name.title()}Config" for name in SHOP_APPS.split()]
INSTALLED_APPS += ["oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig"]
DASHBOARD_APPS = "reports users orders catalogue offers partners pages ranges reviews vouchers communications shipping"
INSTALLED_APPS += [f"oscar.apps.dashboard.{name}.apps.{name.title()}DashboardConfig" for name in DASHBOARD_APPS.split()]
INSTALLED_APPS += ["widget_tweaks", "haystack", "treebeard", "django_tables2", "edna", "privacy"]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
"""
BOARD = """
INSTALLED_APPS += ["mptt", "haystack", "widget_tweaks", "machina", "machina.apps.forum"]
BOARD_APPS = "conversation feeds moderation search tracking member permission"
INSTALLED_APPS += [f"machina.apps.forum_{name}" for name in BOARD_APPS.split()]
INSTALLED_APPS += [f"machina.apps.forum_conversation.forum_{name}" for name in ("attachments", "polls")]
INSTALLED_APPS += ["edna", "privacy"]
MIDDLEWARE += ["machina.apps.forum_permission.middleware.ForumPermissionMiddleware"]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
CACHES = {name: {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"} for name in ("default", "machina_attachments")}
RANDOM_KEYS = {"PSEUDOPRINCIPAL_KEYS": "random"}
"""
ENCYCLOPEDIA = """
INSTALLED_APPS += ["django.contrib.sites", "django.contrib.humanize", "django_nyt", "mptt", "sekizai", "sorl.thumbnail", "wiki"]
INSTALLED_APPS += [f"wiki.plugins.{name}" for name in ("attachments", "notifications", "images")] + ["edna", "privacy"]
TEMPLATES[0]["OPTIONS"]["context_processors"] += ["sekizai.context_processors.sekizai"]
MEDIA_ROOT, ROOT_URLCONF = BASE_DIR / "media", "encyclopedia"
"""
CONFERENCE = """
import os
os.environ |= {"PRETALX_DATA_DIR": str(BASE_DIR), "PRETALX_NO_INITIAL_LOG": "1"}
from pretalx.settings import *
INSTALLED_APPS += ["edna", "privacy"]
LOGGING["handlers"]["console"] = LOGGING["handlers"]["null"]
RANDOM_KEYS = {"PSEUDOPRINCIPAL_KEYS": "random"}
"""
ENDING_AT_THE_CONFERENCE = {"event.Team_members": 1, "event.Team": 1, "event.TeamInvite": 1}  # rights
CLUB = """
INSTALLED_APPS += ["django.contrib.sites", "cms", "menus", "treebeard", "sekizai", "djangocms_versioning", "postman", "organizations"]
INSTALLED_APPS += ["allauth", *(f"allauth.{name}" for name in ("account", "socialaccount", "mfa", "usersessions"))]
INSTALLED_APPS += ["oauth2_provider", "rest_framework", "rest_framework.authtoken", "edna", "privacy"]
MIDDLEWARE += ["allauth.account.middleware.AccountMiddleware"]
LANGUAGES, LANGUAGE_CODE = [("en", "English")], "en"
CMS_CONFIRM_VERSION4, CMS_TEMPLATES, X_FRAME_OPTIONS = True, [("page.html", "Page")], "SAMEORIGIN"
TEMPLATES[0]["DIRS"] = ["templates"]
processors = TEMPLATES[0]["OPTIONS"]["context_processors"]
processors += ["sekizai.context_processors.sekizai", "cms.context_processors.cms_settings"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Callable[[str], newcomer.Project]]:
    """A new project with the packages of this name."""
    made: list[newcomer.Project] = []

    def start(name: str) -> newcomer.Project:
        made.append(newcomer.Project(tmp_path, python=f"{ENVIRONMENTS}/{name}/bin/python"))
        return made[0]

    yield start
    made[0].close()


@pytest.mark.parametrize(
    ("name", "disguise", "settings", "differing"),
    [
        ("garden", "LeaveGarden", GARDEN, {}),
        ("magazine", "LeaveMagazine", MAGAZINE, {}),
        ("club", "LeaveClub", CLUB, {}),
        ("shop", "LeaveShop", SHOP, {}),
        ("board", "LeaveBoard", BOARD, {"forum_permission.UserForumPermission": 1}),  # rights, which end
        ("encyclopedia", "LeaveWiki", ENCYCLOPEDIA, {}),
        ("conference", "LeaveConference", CONFERENCE, ENDING_AT_THE_CONFERENCE),
    ],
)
def test_everybody_leaves_and_returns_in_each_order(
    name: str,
    disguise: str,
    settings: str,
    differing: dict[str, int],
    project: Callable[[str], newcomer.Project],
) -> None:
    """With rows that several share: 36 stories. Who is away is named nowhere, and in the end every table is as it was."""
    site = project(name)
    (specification,) = [code for _, _, code in newcomer.BLOCK.findall(PAGE.read_text()) if f"class {disguise}" in code]
    site.write("mysite/settings.py", settings + COMMON, append=True)
    site.write("privacy/disguises.py", specification)
    for module in (f"{name}.py", "stories.py"):
        site.write(module, (STORIES / module).read_text())
    django = "DJANGO_SETTINGS_MODULE=mysite.settings python -c 'import django; django.setup();"
    said = site.run(f"{django} import {name}; print({name}.SAID)'").splitlines()
    assert any(line.startswith("System check identified no issues") for line in said)
    assert [line for line in said if line.startswith("{")] == [str({"stories": 36} | differing)]


def test_the_page_about_wagtail_can_be_followed(project: Callable[[str], newcomer.Project]) -> None:
    assert project("wagtail").follow("docs/howto-wagtail.md") >= 4
