"""The steps of ``manage.py demo hotcrp``: a reviewer leaves and returns; the conference is anonymised, and reclaimed one by one."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from django.urls import reverse

import edna
from apps.showcase import evidence
from apps.showcase.stage import WIDTH
from apps.showcase.tour import Needles
from apps.showcase.tour import Tour as SharedTour

from .auth import identifier
from .management.commands.hotcrp_seed import DEMO_PASSWORD
from .models import ActionLog, ContactInfo, PaperComment, PaperReview
from .seeding import DEMO_REVIEWER

SCALE = {"users": 40, "pc": 12, "papers": 10}
ANONYMISE = "hotcrp.anonymize-conference"


class Tour(SharedTour):
    about = "This tour uses HotCRP, a sample site where a conference reviews its papers."
    name = "Rae"
    login = {"hotcrp_email": DEMO_REVIEWER}
    identifier = identifier(DEMO_REVIEWER)
    password = DEMO_PASSWORD
    leaving = "hotcrp.remove-account"
    people = "ContactInfo"
    tables = {"accounts": "ContactInfo", "reviews": "PaperReview", "comments": "PaperComment", "log": "ActionLog"}
    owned = {
        "account": ("hotcrp_sim.ContactInfo", "pk"),
        "reviews": ("hotcrp_sim.PaperReview", "contact"),
        "comments": ("hotcrp_sim.PaperComment", "contact"),
        "preferences": ("hotcrp_sim.PaperReviewPreference", "contact"),
        "conflicts": ("hotcrp_sim.PaperConflict", "contact"),
        "ratings": ("hotcrp_sim.ReviewRating", "contact"),
        "log entries": ("hotcrp_sim.ActionLog", "contact"),
    }

    def steps(self) -> Mapping[str, Callable[[], None]]:
        return {
            "A conference": self.conference,
            "A thief takes a copy of the database": self.thief_before,
            "Rae wants to leave. What would happen?": self.preview,
            "Rae removes her account": self.leave,
            "An author reads her review": self.author_reads,
            "Others try to open the bag": self.locked_out,
            "Rae returns": self.come_back,
            "The chair takes the names off everything": self.anonymise,
            "Rae edits a review that names nobody": self.edit_under_disguise,
            "Rae takes back what is hers": self.reclaim,
            "Everybody else does, too": self.everybody_reclaims,
        }

    # The conference

    def conference(self) -> None:
        self.seed("hotcrp_seed", **SCALE, no_register=True)
        rae = ContactInfo.objects.get(email=DEMO_REVIEWER)
        rae.set_password(DEMO_PASSWORD)  # with a salt of her own: the seed hashes one password for all
        rae.save()
        self.stage.say(
            f"{ContactInfo.objects.count()} people, {PaperReview.objects.count()} reviews, {PaperComment.objects.count()} comments. We "
            "watch Rae, who reviews papers. She gets a key pair: the database keeps the public half, and the secret half only locked away, "
            "once with her password and once with a recovery code that she sees this one time."
        )
        self.sample = rae.reviews.filter(review_submitted__isnull=False).order_by("review_id")[0]
        self.author = self.sample.paper.authors.order_by("position")[0].contact
        addresses = ActionLog.objects.filter(contact=rae, ipaddr__isnull=False).values_list("ipaddr", flat=True)
        self.addresses = sorted(set(addresses))
        self.register(rae, ContactInfo.objects.exclude(pk=rae.pk))
        self.page_before = self.paper()

    def personal(self) -> Needles:
        rae = self.person
        return {
            "e-mail address": [rae.email],
            "name": [rae.unaccented_name],
            "phone number": [rae.phone],
            "password hash": [rae.password],
            "internet addresses": [*self.addresses],
        }

    def paper(self) -> str:
        """The page of a paper that Rae has reviewed, as its author sees it."""
        path = reverse("hotcrp:paper", args=[self.sample.paper_id])
        return evidence.page(path, reader=self.author, backend=self.backend())

    def author_reads(self) -> None:
        text = self.sample.texts["t02"]
        self.stage.say(f"Paper {self.sample.paper_id}, as its author reads it. A part of Rae's review of it:")
        self.stage.show([textwrap.shorten(text, WIDTH - 8, placeholder="…")])
        page = self.paper()
        self.stage.check("The review is on the page", textwrap.shorten(text, 40, placeholder="") in page)
        self.stage.check("The page is what it was while Rae was here, to the last character", page == self.page_before)
        fresh = PaperReview.objects.get(pk=self.sample.pk)
        self.stage.say("Who wrote it, according to the database:")
        self.stage.show([f"account {fresh.contact_id}, {fresh.contact.email}"])
        self.stage.check("That account was never anybody's", fresh.contact.is_guise and not fresh.contact.is_active)

    # The conference is over

    def anonymise(self) -> None:
        self.stage.say(
            "The proceedings are out, and nobody needs to know any more who reviewed what, who was in conflict with whom, or who has read "
            "which paper. Nobody's password is needed: each person's way back is sealed to that person's public key."
        )
        texts = sorted(PaperReview.objects.values_list("review_id", "tfields"))
        self.stage.code(f'edna.disguise_all("{ANONYMISE}")')
        receipts = edna.disguise_all(ANONYMISE)
        reviews, comments = self._signed(PaperReview), self._signed(PaperComment)
        self.stage.compare(
            {
                "now": {
                    "reviews": len(texts),
                    "reviews that name somebody": reviews,
                    "comments that name somebody": comments,
                    "people with a way back": len(receipts),
                }
            }
        )
        self.stage.check(
            "All reviews are still there to be read",
            sorted(PaperReview.objects.values_list("review_id", "tfields")) == texts,
        )
        self.stage.check("No review and no comment has an author with a name", reviews == comments == 0)
        self.stage.say("What the thief finds of Rae now:")
        self.finds_nothing("Nothing says that Rae is here", self.personal_but_the_password())

    def personal_but_the_password(self) -> Needles:
        """Her account stays, and she logs in to it as before: with her key, which the database does not have."""
        return {label: found for label, found in self.personal().items() if label != "password hash"}

    def _signed(self, model: type[Any]) -> int:
        return model.objects.filter(contact__is_guise=False).count()

    def edit_under_disguise(self) -> None:
        self.sample.refresh_from_db()
        author, texts = self.sample.contact_id, self.sample.texts
        self.new_texts = {**texts, "t02": texts["t02"] + " Edited: I know better now."}
        with self.speaking_as(self.sample, "contact") as (unlocked, voice):
            mine = PaperReview.objects.filter(contact__in=edna.speaks_for(unlocked, ContactInfo))
            self.stage.check(
                f"Rae's key speaks for her {self.mine['reviews']} reviews", mine.count() == self.mine["reviews"]
            )
            review = mine.get(pk=self.sample.pk, contact=voice.pk)
            review.texts = self.new_texts
            review.save(update_fields=["tfields"])
        self.sample.refresh_from_db()
        self.stage.check("The review says what she wants now", self.sample.texts == self.new_texts)
        self.stage.check(
            "Its author is as anonymous as before",
            self.sample.contact_id == author and self.sample.contact.is_guise,
        )
        self.stage.say(
            "The author of the paper takes back what is theirs, so that the site knows again whose paper it is, and reads:"
        )
        with edna.unlock(secret_key=self.others[self.author.pk]) as unlocked:
            [entry] = edna.history(unlocked)
            edna.reveal(entry.receipt, unlocked)
        self.stage.check("The edit is on the author's page", "Edited: I know better now." in self.paper())

    def reclaim(self) -> None:
        outcome = self.take_back(ANONYMISE)
        self.stage.check("Nothing is held back", outcome.complete)
        self.stage.check(
            "Her rows carry her name again, as many as before the conference was anonymised",
            self.count_mine() == self.mine,
        )
        mine = PaperReview.objects.get(pk=self.sample.pk)
        self.stage.check("Her edit was not overwritten", mine.texts == self.new_texts and mine.contact == self.person)
        self.stage.check("All other reviews are still anonymous", self._signed(PaperReview) == self.mine["reviews"])

    def everybody_reclaims(self) -> None:
        super().everybody_reclaims()
        self.stage.say("The database is compared with the one of step 1, row by row and table by table:")
        changed = Counter(name for name, _ in evidence.changed_rows(self.before, evidence.application_tables()))
        self.stage.show(f"changed rows in {name}: {count // 2}" for name, count in changed.items())
        same = self.equals(self.but_for(self.sample, "tfields"), called="step 1, with the edit")
        self.stage.check("Nothing differs but the one review that Rae edited", same)
        self.stage.check("No anonymous account is left over", not ContactInfo.objects.filter(is_guise=True).exists())
        self.stage.check("No bag is left over", self.count()["sealed bags"] == 0)
