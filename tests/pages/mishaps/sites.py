"""The three sites with something of everything: who goes there, and what the addresses of the pages name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core import signing

import edna
from apps.hotcrp_sim import cases
from apps.hotcrp_sim.tests import people as conference
from apps.hotcrp_sim.views.public import _REGISTRATION
from apps.lobsters_sim import models as lobsters
from apps.lobsters_sim.keys import TOPIC, identifier
from apps.lobsters_sim.writing import post_comment, submit_story
from apps.websubmit import models as websubmit
from edna import audiences
from tests.pages.mishaps.site import PASSWORD, Site, brought_back

NAMELESS = "websubmit.anonymize-lecture"


def course() -> Site:
    bea, carl, staff = (
        websubmit.User.objects.create_user(f"{name}@example.org", PASSWORD, is_admin=name == "staff")
        for name in ("bea", "carl", "staff")
    )
    code, *_ = [edna.register_principal(each, password=PASSWORD).recovery_code for each in (bea, carl, staff)]
    lectures = [websubmit.Lecture.objects.create(label=label) for label in ("Deadlock", "Starvation", "Livelock")]
    for lecture in lectures:
        question = websubmit.Question.objects.create(lecture=lecture, number=1, text="Why?")
        for author in (bea, carl):
            websubmit.Answer.objects.create(author=author, question=question, text="As written.")
    receipts = [edna.disguise(NAMELESS, bea, params={"lecture": each.pk}) for each in lectures[1:]]
    question.delete()  # what was answered there cannot come back
    with edna.unlock(identifier="bea@example.org", password=PASSWORD) as unlocked:
        waiting = brought_back(receipts[1], unlocked)
    named = {
        "pk": lectures[0].pk,
        "staff-question pk": lectures[0].questions.get().pk,
        "name": "websubmit.delete-account",
    }
    return Site(
        "websubmit",
        "bea@example.org",
        bea,
        staff,
        websubmit.User.objects.create_user("fresh-one@example.org", PASSWORD),
        "django.contrib.auth.backends.ModelBackend",
        named,
        "carl",
        taken={"email": "carl@example.org"},
        receipt=str(receipts[0]),
        code=str(code),
        waiting=waiting,
    )


def links() -> Site:
    bea, carl, mod = (
        lobsters.User.objects.create_user(name, f"{name}@example.org", PASSWORD, is_moderator=name == "mod")
        for name in ("bea", "carl", "mod")
    )
    code, *_ = [
        edna.register_principal(each, password=PASSWORD, identifier=identifier(each.username)).recovery_code
        for each in (bea, carl, mod)
    ]
    tags = [
        lobsters.Tag.objects.create(tag=name, description="A galaxy")
        for name in ("starwars", "compsci", "film", "gone")
    ]
    told = {"url": "https://example.org/blasters", "description": "At length.", "by_author": False}
    story = submit_story(bea, title="Blasters", tags=[tags[0]], **told)
    other = submit_story(carl, title="Paxos", tags=[tags[1]], **{**told, "url": "https://example.org/paxos"})
    comment = post_comment(bea, other.short_id, "As written.")
    others = post_comment(carl, story.short_id, "Otherwise.")
    message = lobsters.Message.objects.create(author_user=carl, recipient_user=bea, subject="Tea", body="Green?")
    hat = lobsters.Hat.objects.create(user=bea, granted_by_user=mod, hat="Taster", link="https://example.org/b")
    asked = lobsters.HatRequest.objects.create(user=bea, hat="Potter", link="https://example.org/p", comment="Mine.")
    for tag in tags[2:]:
        left = submit_story(bea, title=f"On {tag}", tags=[tag], **{**told, "url": f"https://example.org/{tag}"})
        left_comment = post_comment(bea, left.short_id, "Too slow.")
        receipt = edna.disguise(TOPIC, bea, params={"tag": tag.tag})
    left_comment.delete()
    with edna.unlock(identifier=identifier("bea"), password=PASSWORD) as unlocked:
        waiting = brought_back(receipt, unlocked)
    named: dict[str, Any] = {
        "page": 1,
        "short_id": story.short_id,
        "username": "bea",
        "tag": "starwars",
        "pk": asked.pk,
        "doff-hat pk": hat.pk,
        "name": "lobsters.delete-account",
        "message short_id": message.short_id,
        "delete-message short_id": message.short_id,
    }
    named |= {f"{page} short_id": comment.short_id for page in ("edit-comment", "delete-comment")}
    for page in ("comment", "upvote-comment", "downvote-comment", "unvote-comment", "moderate-comment"):
        named[f"{page} short_id"] = others.short_id
    return Site(
        "lobsters",
        "bea",
        bea,
        mod,
        lobsters.User.objects.create_user("fresh", "fresh-one@example.org", PASSWORD),
        "apps.lobsters_sim.auth.LobstersBackend",
        named,
        "carl",
        taken={"username": "carl"},
        receipt=str(receipt),
        code=str(code),
        waiting=waiting,
    )


def papers() -> Site:
    site = conference.make_site()
    conference.enter("dan@example.org", conference.m.CHAIR, with_key=False)
    chairs = {"Chair Example": audiences.new_member(), "Dan Example": audiences.new_member()}
    key, card = chairs["Chair Example"].secret_key.expose_text(), chairs["Dan Example"].card
    cases.begin_or_add(key, {"Dan Example": card}, called="Chair Example")
    eve = conference.enter("eve@example.org", conference.m.CHAIR, with_key=False)
    cases.begin_or_add(key, {eve.user.name or "Eve Example": audiences.new_member().card}, called="Chair Example")
    edna.disguise(cases.anonymising(), site.rob.user)
    review = conference.m.PaperReview.objects.get(paper=site.fair, review_ordinal=1)
    cases.open_case(review, key, reason="The authors were threatened")
    receipt = edna.disguise(conference.ANONYMIZE, site.rae.user)
    conference.m.PaperReview.objects.filter(paper=site.lazy, review_ordinal=1).delete()
    with site.rae.unlock() as unlocked:
        waiting = brought_back(receipt, unlocked)
    edna.disguise(conference.ANONYMIZE, site.rae.user)
    for paper in (site.quiet, site.reversible):
        conference.add_review(paper, site.rae.user, "Rae", ordinal=3)
    named = {
        "pk": site.reversible.pk,
        "token": signing.dumps("nia@example.org", salt=_REGISTRATION),
        "name": cases.removing(),
        "number": cases.every()[0].number,
    }
    named["paper pk"] = site.fair.pk
    named["review pk"] = site.quiet.pk
    return Site(
        "hotcrp",
        "rae@example.org",
        site.rae.user,
        site.chair.user,
        conference.enter("fresh-one@example.org", with_key=False).user,
        conference.BACKEND,
        named,
        "mia",
        key,
        receipt=str(receipt),
        code=site.rae.recovery_code,
        waiting=waiting,
    )


MAKE: dict[str, Callable[[], Site]] = {"websubmit": course, "lobsters": links, "hotcrp": papers}
