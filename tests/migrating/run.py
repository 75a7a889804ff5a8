"""What the processes of both versions do: `python -m tests.migrating.run before|after|...`, on a test database that they share.

Each case is a small group of people of its own and a sequence of steps, cut in two by the migration. The first version makes
everybody and takes the steps up to the cut; the second migrates and takes the rest, checking after each step.
"""

from __future__ import annotations

import datetime
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import django
from django.apps import apps
from django.conf import settings
from django.db import connection

CUT = "migrate"
DISGUISES = {"A": "lobsters.anon", "G": "lobsters.gdpr", "B": "lobsters.blank"}
MODERATE, COLLIDE = "M", "X"
#: Digits are reveals: of the first disguise of the sequence, the second ... M is an update by a moderator; X a
#: reveal, under version 2, while somebody else has the name.
SEQUENCES = (
    *("A1", "G1", "B1"),
    *("AG21", "AG12", "AA12", "AA21"),
    *("BA12", "BA21", "BG12", "BG21", "AB12", "AB21"),
    *("GM1", "BM1", "AM1", "GMM1", "AGM21", "AGM12", "BGM12", "BGM21", "GX"),
    *("ABG" + "".join(order) for order in itertools.permutations("123")),
)


@dataclass
class Case:
    steps: list[str]
    with_key: bool
    user: int = 0
    secret_key: str = ""
    receipts: list[str] = field(default_factory=list)
    #: Stories, moderations and the user as they were before any disguise, by primary key.
    rows: dict[str, Any] = field(default_factory=dict)
    #: For each disguise, whether it is active, and whether it removed the stories.
    active: list[bool] = field(default_factory=list)
    removed: list[bool] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{' '.join(self.steps)} {'with' if self.with_key else 'without'} the key"


def all_cases() -> list[Case]:
    """Every sequence, with the migration at every place between its first disguise and its last reveal."""
    return [
        Case([*sequence[:place], CUT, *sequence[place:]], with_key)
        for sequence in SEQUENCES
        for place in range(1, len(sequence))
        for with_key in ((True, False) if "G" in sequence[1:] else (True,))
    ]


# Both versions


def model(name: str) -> Any:
    return apps.get_model("lobsters", name)


def take(case: Case, step: str) -> Any:
    """Disguise or reveal; what a reveal returned."""
    import edna

    if step == MODERATE:
        moderate(case)
        return None
    if step == COLLIDE:
        collide(case)
        return None
    if step.isdigit():
        number = int(step) - 1
        case.active[number] = False
        with opened(case, case.receipts[number]) as unlocked:
            return edna.reveal(case.receipts[number], unlocked)
    with opened(case) as unlocked:
        user = model("User").objects.get(pk=case.user)
        # Without the key, what an earlier disguise gave to others stays where it is.
        mine = not any(active and each == "A" for active, each in zip(case.active, disguises(case), strict=False))
        receipt = edna.disguise(DISGUISES[step], user, unlocked=unlocked if case.with_key else None)
        case.receipts.append(str(receipt))
        case.active.append(True)
        case.removed.append(step == "G" and (case.with_key or mine))
        return None


def in_browser() -> bool:
    return bool(settings.EDNA["CUSTODY"] == "browser")


def opened(case: Case, receipt: str | None = None) -> AbstractContextManager[Any]:
    """By the key; or, where it stays in the browser, by what that hands over for this one act."""
    import edna
    from edna import inner_door
    from tests.handing import Browser

    if not in_browser():
        return edna.unlock(secret_key=case.secret_key)
    browser = Browser(edna.SecretKey.parse(case.secret_key))
    handed = browser.for_reveal(edna.Receipt.parse(receipt)) if receipt else browser.for_disguise()
    return inner_door.unlock_handed(handed)


def moderate(case: Case) -> None:
    """Another title and text for the first story, whatever it is under."""
    import edna

    pk = min(map(int, case.rows["stories"]))
    words = f"moderated by version {1 if settings.VERSION == 'before' else 2}"
    story = next(values for key, values in case.rows["stories"].items() if int(key) == pk)
    story[2], story[3] = "moderated", words
    if settings.VERSION == "before":
        edna.replay(model("Story"), where={"pk": pk}, set={"title": "moderated", "text": words})
    else:
        edna.replay(model("Story"), where={"pk": pk}, set={"title": "moderated"})
        edna.replay(model("StoryText"), where={"story": pk}, set={"body": words})


def collide(case: Case) -> None:
    """The row that the rule has made cannot come back yet. What key it would have got must not matter the next time."""
    import edna

    if settings.VERSION == "before":
        return
    users, handles = model("User"), model("Handle")
    taker = users.objects.create(email="taker@example.org")
    handles.objects.create(user=taker, name=case.rows["user"][1])
    with edna.unlock(secret_key=case.secret_key) as unlocked:
        outcome = edna.reveal(case.receipts[0], unlocked)
    assert [(held.model, held.reason) for held in outcome.held] == [("lobsters.handle", edna.Reason.UNIQUE_TAKEN)], (
        outcome
    )
    handles.objects.filter(user=taker).delete()
    for number in range(3):
        handles.objects.create(user=users.objects.create(email="x"), name=f"key taker {number}")
    # The next reveal finds those keys taken. Afterwards nobody but the case's own people may be there.
    with edna.unlock(secret_key=case.secret_key) as unlocked:
        assert edna.reveal(case.receipts[0], unlocked).complete
    users.objects.filter(email__in=["x", "taker@example.org"]).delete()
    case.active[0] = False


def disguises(case: Case) -> list[str]:
    return [step for step in case.steps if step in DISGUISES]


def check(case: Case, step: str) -> Iterator[str]:
    """What is visible while some of the disguises are active."""
    gone = any(active and removed for active, removed in zip(case.active, case.removed, strict=True))
    mine = not any(active and each in "AG" for active, each in zip(case.active, disguises(case), strict=False))
    stories = dict(model("Story").objects.filter(pk__in=case.rows["stories"]).values_list("pk", "user"))
    if len(stories) != (0 if gone else len(case.rows["stories"])):
        yield f"{case}: after {step} {len(stories)} stories are there"
    elif stories and {owner == case.user for owner in stories.values()} != {mine}:
        yield f"{case}: after {step} the owners are {sorted(stories.values())}"


# The first version


def make(case: Case, number: int) -> None:
    import edna

    users, story, moderation = model("User"), model("Story"), model("Moderation")
    ann = users.objects.create(username=f"ann{number}", email=f"ann{number}@example.org", karma=number)
    bob = users.objects.create(username=f"bob{number}", email=f"bob{number}@example.org")
    stories = [
        story.objects.create(
            user=owner,
            url=f"HTTPS://Example.org/{owner.username}/{kind}/",
            title=kind,
            text=f"{kind} of {owner.username}",
            posted_at=datetime.datetime(2020, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.UTC),
        )
        for owner, kind in itertools.product((ann, bob), ("News", "Links"))
    ]
    for moderator, user, about in ((ann, bob, stories[2]), (bob, ann, stories[0]), (ann, None, None), (ann, ann, None)):
        moderation.objects.create(moderator=moderator, user=user, story=about, action="warned")
    secret_key = edna.register_principal(ann).secret_key
    edna.register_principal(bob)
    assert secret_key is not None
    case.user, case.secret_key = ann.pk, secret_key.expose_text()
    case.rows = {
        "user": [ann.pk, ann.username, ann.email, ann.karma],
        "stories": {
            each.pk: [ann.pk, each.url, each.title, each.text, each.posted_at.isoformat()] for each in stories[:2]
        },
        "moderations": {
            each.pk: [each.moderator_id, each.user_id, each.story_id, each.action]
            for each in moderation.objects.filter(moderator__in=[ann, bob])
        },
    }


def before() -> list[str]:
    problems: list[str] = []
    # On servers, what they can change: types and statements. Which order brings back what, Python decides.
    cases = all_cases()[:: 3 if in_browser() or connection.vendor != "sqlite" else 1]
    for number, case in enumerate(cases):
        make(case, number)
        for step in case.steps[: case.steps.index(CUT)]:
            outcome = take(case, step)
            problems += check(case, step)
            if outcome is not None and outcome.held:
                problems.append(f"{case}: {step} held {outcome.held[:3]}")
    save(cases)
    return problems


# The second version


def restored(case: Case) -> dict[str, Any]:
    """The rows of the case as version 2 has them, in the words of version 1."""
    from tests.migrating.after.urls import normalised

    user = model("User").objects.get(pk=case.user)
    stories = {}
    for story in model("Story").objects.filter(user=user).select_related("storytext"):
        assert story.normalised_url == normalised(story.url), story.normalised_url
        values = [story.user_id, story.url, story.title, story.storytext.body, story.posted_at.isoformat()]
        stories[str(story.pk)] = values
    assert user.show_email is True
    moderations = model("Moderation").objects.filter(pk__in=case.rows["moderations"])
    return {
        "user": [user.pk, user.handle.name, user.email, user.reputation],
        "stories": stories,
        "moderations": {
            str(each.pk): [each.moderator_id, each.user_id, each.story_id, each.action] for each in moderations
        },
    }


def after() -> list[str]:
    problems: list[str] = []
    cases = noted()
    for case in cases:
        for step in case.steps[case.steps.index(CUT) + 1 :]:
            outcome = take(case, step)
            problems += check(case, step)
            if outcome is not None and outcome.held:
                problems.append(f"{case}: {step} held {outcome.held[:3]}")
    return problems + final(cases)


def without_rules() -> list[str]:
    """The developer has not thought of records: what moved is held, whatever the order."""
    from edna import recordmigrations

    for app_label, migration in recordmigrations.named():
        recordmigrations.unregister(app_label, migration)
    cases, held = noted(), 0
    for case in cases:
        for step in case.steps[case.steps.index(CUT) + 1 :]:
            outcome = take(case, step) if step != COLLIDE else None
            held += len(outcome.held) if outcome is not None else 0
    save(cases)
    return [] if held > len(cases) else [f"only {held} records were held"]


def with_rules() -> list[str]:
    """Now they have: the same receipts bring everything back."""
    import edna

    cases = noted()
    for case in cases:
        for receipt in [*reversed(case.receipts)] * len(case.receipts):
            try:
                with edna.unlock(secret_key=case.secret_key) as unlocked:
                    edna.reveal(receipt, unlocked)
            except edna.errors.ReceiptUnknown:
                pass
    return final(cases)


def final(cases: Sequence[Case]) -> list[str]:
    """Everything is as a site that was migrated without any disguise."""
    problems = []
    for case in cases:
        try:
            found = restored(case)
        except Exception as error:
            problems.append(f"{case}: {error!r}")
        else:
            problems += [
                f"{case}: {key} is {found[key]}, not {case.rows[key]}" for key in found if found[key] != case.rows[key]
            ]
    left = model("User").objects.count() - 2 * len(cases)
    names = model("Handle").objects.count() - 2 * len(cases)
    texts = model("StoryText").objects.count() - 4 * len(cases)
    if left or names or texts:
        problems.append(f"there are {left} users, {names} names and {texts} texts too many")
    bags = apps.get_model("edna", "Bag").objects.count()
    if bags:
        problems.append(f"{bags} bags are left")
    connection.check_constraints()
    return problems


# Notes from one to the other


def notes() -> Path:
    return settings.SCRATCH / "cases.json"


def noted() -> list[Case]:
    return [Case(**each) for each in json.loads(notes().read_text())]


def save(cases: Sequence[Case]) -> None:
    notes().write_text(json.dumps([asdict(case) for case in cases]))


STAGES = {"before": before, "after": after, "without_rules": without_rules, "with_rules": with_rules}
#: The last stage of each series clears up.
LAST = ("after", "with_rules")


def main(stage: str) -> int:
    django.setup()
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False, keepdb=stage != "before")
    problems = STAGES[stage]()
    if stage in LAST:
        connection.creation.destroy_test_db(settings.DATABASES["default"]["NAME"], verbosity=0)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
