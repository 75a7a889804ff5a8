"""What is particular to this site: leave one topic, edit what stands without a name, and finish the deletion of an account that was put
away.

No address of these pages says what is whose: what somebody disowns, and what they edit under disguise, travels in the body of a request.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.functional import cached_property

import edna
from edna.offers import Offer, offer
from edna.pages.applying import Apply
from edna.pages.base import FormPage, KeyPage
from edna.pages.keys.returning import Return
from edna.pages.receipts import ShowsReceipt

from .. import keys
from ..disguises import DELETED
from ..keyforms import EditForm, TagForm, TopicForm
from ..models import Comment, Story, Tag, User
from ..privacy import PAGES
from ..writing import edit_comment, edit_story
from .guards import posted_name

#: How much of what is disguised is listed for editing; the latest.
LISTED = 100


class ChooseTopic(FormPage):
    """Which topic is to be left; the next page says what that does."""

    pages = PAGES
    http_method_names = ["get", "head"]  # its form is about the other page
    template_name = "lobsters/choose_topic.html"
    title = "Leave a topic"
    button = "Show what would happen"
    form_class = TagForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**{"tags": Tag.objects.order_by("tag"), **kwargs})


class LeaveTopic(Apply):
    """Take one's name off the topic that was chosen."""

    pages = PAGES
    is_asked_anew = False  # the topic came by the form of another page
    form_class = TopicForm

    @cached_property
    def offer(self) -> Offer:
        tag = Tag.objects.filter(tag=posted_name(self.request, "tag").strip().lower()).first()
        if tag is None:
            raise Http404("There is no such tag.")
        return offer(keys.TOPIC, title=f"Leave “{tag.tag}”", params={"tag": tag.tag})

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return redirect("lobsters:choose-topic")

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> Any:
        return super().post(request, *args, **kwargs) if "seen" in request.POST else self.told_anew("")

    def get_initial(self) -> dict[str, Any]:
        return {**super().get_initial(), "tag": self.offer.params["tag"]}


class Finish(ShowsReceipt, Return):
    """Delete an account that was put away because nobody used it. Here a receipt must be of that."""

    pages = PAGES
    template_name = "lobsters/finish.html"
    title = "Finish the deletion"
    button = "Delete what I wrote"
    is_grave = True

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        if edna.principal(unlocked) is not None:
            return super().opened(form, unlocked)
        departures = list(self.departures(form, unlocked))
        found = next((receipt for receipt in departures if receipt.disguise == keys.DECAY), None)
        for damage in [] if departures else unlocked.damaged:
            raise damage
        deletion = keys.finish(found, unlocked) if found else None
        if deletion is not None:
            return self.show_done(offer(keys.DELETION), deletion, is_gone=True)
        form.add_error(
            None,
            "Your account cannot be put back as things are, perhaps because somebody else has your user name now. Come back first: "
            "there you can choose another. Then delete your account."
            if found
            else "There is no account here that was put away. If yours is deleted already, there is nothing left to do.",
        )
        return self.form_invalid(form)


class Disguised(KeyPage):
    """What somebody has disguised and may edit while it stays without a name, for whoever proves the key."""

    pages = PAGES
    login_required = False
    template_name = "lobsters/disguised.html"
    is_asked_anew = True
    title = "What stands here without your name"
    button = "Show it"
    hands = "voices"

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        voices = edna.speaks_for(unlocked, User)
        return self.show("lobsters/disguised_list.html", **_items(voices))


def _items(voices: list[int]) -> dict[str, Any]:
    """The latest stories and comments of these pseudoprincipals; not those without text, which come back with the account."""
    comments = Comment.objects.filter(user__in=voices, is_deleted=False, is_moderated=False, story__is_expired=False)
    stories = Story.objects.filter(user__in=voices, is_expired=False)
    found_comments = comments.exclude(comment=DELETED).select_related("story").order_by("-pk")[: LISTED + 1]
    found_stories = stories.exclude(title=DELETED).order_by("-pk")[: LISTED + 1]
    return {
        "comments": list(found_comments[:LISTED]),
        "stories": list(found_stories[:LISTED]),
        "more": len(found_comments) > LISTED or len(found_stories) > LISTED,
        "listed": LISTED,
    }


class Edit(KeyPage):
    """Change a story or comment that stands under nobody's name. Its text is public; to save it takes its author's key."""

    pages = PAGES
    login_required = False
    http_method_names = ["post"]
    template_name = "lobsters/edit_disguised.html"
    title = "Edit without a name"
    button = "Save, stay without a name"
    form_class = EditForm
    hands = "voices"

    @cached_property
    def row(self) -> Any:
        model: Any = {"story": Story, "comment": Comment}.get(posted_name(self.request, "kind"))
        if model is None:
            raise Http404("There is nothing to edit.")
        short_id = posted_name(self.request, "short_id")
        return get_object_or_404(model.objects.select_related("user"), short_id=short_id)

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if self.row is not None and "text" in request.POST:
            return super().post(request, *args, **kwargs)
        is_story = isinstance(self.row, Story)
        text, title = (self.row.description, self.row.title) if is_story else (self.row.comment, "")
        initial = {"kind": request.POST["kind"], "short_id": self.row.short_id, "title": title, "text": text}
        form = EditForm(initial=initial, is_story=is_story, **self.whose())
        return self.render_to_response(self.get_context_data(form=form))

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "is_story": isinstance(self.row, Story)}

    def opened(self, form: Any, unlocked: edna.Unlocked) -> HttpResponse:
        data = form.cleaned_data
        try:
            with self.request.edna.speak_as(self.row, owner="user"):
                if isinstance(self.row, Comment):
                    edit_comment(self.request.user, self.row, data["text"])
                else:
                    edit_story(self.request.user, self.row, title=data["title"], description=data["text"])
        except edna.errors.NotYours:
            form.add_error(
                None, "Your key does not speak for the author of this, so only its real author can change it."
            )
            return self.form_invalid(form)
        messages.success(self.request, "Saved. It still stands under nobody’s name.")
        return redirect("lobsters:disguised")
