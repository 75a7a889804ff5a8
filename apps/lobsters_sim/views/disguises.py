"""Leaving and coming back: delete the account, finish a deletion, come back, leave a topic, and what is disguised.

A receipt is shown as the direct answer to the form that made it, and mailed; it is kept nowhere. No address of these pages says
what is whose: what somebody disowns, and what they edit under disguise, travels in the body of a request.
"""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import logout
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST

import edna

from .. import keys
from ..disguises import DELETED
from ..friendly import TAKEN, WORDS, describe, name_is_taken, preview
from ..keyforms import DeleteForm, EditForm, KeyForm, ReclaimForm, ReturnForm
from ..mails import mail_receipt
from ..models import Comment, Story, Tag, User
from ..writing import edit_comment, edit_story
from .guards import confidential, member, member_of, posted_name, viewer_of
from .waysback import WAYS_BACK

#: How much of what is disguised is listed for editing; the latest.
LISTED = 100


@member
@confidential
@sensitive_variables()
def delete(request: HttpRequest) -> HttpResponse:
    """Leave. The password is asked for; it also opens the key, if what was disowned earlier is to go along."""
    user = member_of(request)
    form, busy = DeleteForm(user, request.POST or None), False
    if form.is_valid():
        name, password = keys.identifier(user.username), form.cleaned_data["password"]
        try:
            unlocked = (
                request.edna.unlock(identifier=name, password=password) if form.cleaned_data["disowned"] else None
            )
            receipt = edna.disguise(keys.DELETION, user, unlocked=unlocked)
        except edna.errors.WrongCredentials:
            form.add_error(
                "disowned", "Your password does not open your key. Leave this out, and the rest can be deleted."
            )
        except edna.errors.EdnaError as error:
            busy = isinstance(error, edna.errors.TooBusy)
            form.add_error(None, WORDS.explain(error))
        else:
            logout(request)
            return _goodbye(request, receipt, user.email)
    context: dict[str, Any] = {"form": form, "has_key": edna.is_registered(user)}
    if context["has_key"] and not busy:  # a preview reads every row: not for a page that says "later"
        try:
            plan = edna.plan(keys.DELETION, user)
            context |= {"preview": preview(plan), "beyond_reach": bool(plan.beyond_reach)}
            # What the key alone finds is part of what they ask for, unless they say otherwise.
            form.initial["disowned"] = context["beyond_reach"]
        except edna.errors.EdnaError as error:
            context["problem"] = WORDS.explain(error)
    return render(request, "lobsters/delete.html", context)


@sensitive_variables()
def _goodbye(request: HttpRequest, receipt: edna.Receipt, address: str, **more: Any) -> HttpResponse:
    request.edna.mark()
    mailed = mail_receipt(address, receipt, request.build_absolute_uri)
    context = {"receipt": str(receipt), "mailed_to": address if mailed else None, **more}
    return render(request, "lobsters/goodbye.html", context)


@confidential
@sensitive_variables()
def come_back(request: HttpRequest) -> HttpResponse:
    """Bring an account back that was deleted or put away. The receipt is looked up with the key if it was not given."""
    return WAYS_BACK.come_back(request)


@confidential
@sensitive_variables()
def recover(request: HttpRequest) -> HttpResponse:
    """Set a new password by recovery code, for an account that is here or away."""
    return WAYS_BACK.recover(request)


@confidential
@sensitive_variables()
def finish(request: HttpRequest) -> HttpResponse:
    """Delete an account that was put away because nobody used it. Here a receipt must be of that."""
    form = ReturnForm(request.POST or None)
    if form.is_valid():
        try:
            unlocked = request.edna.unlock(**form.credentials())
            receipt = WAYS_BACK.departure(unlocked, form.receipt_text())
            if receipt is None:
                form.add_error(None, WAYS_BACK.already_here)
            elif receipt.disguise != keys.DECAY:
                form.add_error(None, "Your account is deleted already. There is nothing left to do.")
            else:
                outcome, user, deletion = keys.finish(
                    receipt, unlocked, new_username=form.name(), password=form.password()
                )
                if user is not None and deletion is not None:
                    return _goodbye(request, deletion, user.email, finished=True)
                if name_is_taken(outcome):
                    form = ReturnForm(request.POST, asked=form.fields_for_a_name())
                    form.add_error(None, TAKEN)
                else:
                    form.add_error(None, "This cannot be done as things are. Nothing was changed.")
        except edna.errors.EdnaError as error:
            form.add_error(None, WORDS.explain(error))
        except ValidationError as error:
            form.add_error(None, error.messages)
    return render(request, "lobsters/finish.html", {"form": form})


@member
@confidential
@sensitive_variables()
def leave_topic(request: HttpRequest) -> HttpResponse:
    """Take one's name off a topic: choose the tag, look at what would happen, do it. Sealing needs no secret."""
    user, chosen = member_of(request), posted_name(request, "tag").strip().lower()
    context: dict[str, Any] = {"tags": Tag.objects.order_by("tag"), "chosen": chosen}
    if chosen:
        tag = Tag.objects.filter(tag=chosen).first()
        try:
            if tag is None:
                context["problem"] = f"There is no tag “{chosen}”."
            elif "confirmed" in request.POST:
                receipt = keys.leave_topic(user, tag.tag)
                request.edna.mark()
                mailed = mail_receipt(
                    user.email, receipt, request.build_absolute_uri, tag=tag.tag, username=user.username
                )
                context = {"receipt": str(receipt), "mailed_to": user.email if mailed else None, "tag": tag}
                return render(request, "lobsters/topic_left.html", context)
            else:
                context |= {"tag": tag, "preview": preview(keys.plan_topic(user, tag.tag))}
        except edna.errors.EdnaError as error:
            context["problem"] = WORDS.explain(error)
    return render(request, "lobsters/leave_topic.html", context)


@confidential
@sensitive_variables()
def disguised(request: HttpRequest) -> HttpResponse:
    """What somebody has disguised, for whoever proves the key: to take back, or to edit while it stays without a name."""
    viewer = viewer_of(request)
    form = KeyForm(viewer, request.POST or None)
    if form.is_valid():
        try:
            unlocked = request.edna.unlock(**form.credentials())
            waiting = WAYS_BACK.waiting(unlocked)
            tried = [entry.receipt for entry in waiting]
            context = {
                "history": describe(entry for entry in keys.KEYS.own_history(unlocked) if entry.receipt not in tried),
                **WAYS_BACK.offer(waiting),
                "away": edna.principal(unlocked) is None,
                "reclaim_form": KeyForm(viewer, auto_id="id_reclaim_%s"),
                **_items(edna.speaks_for(unlocked, User)),
            }
            return render(request, "lobsters/disguised_list.html", context)
        except edna.errors.EdnaError as error:
            form.add_error(None, WORDS.explain(error))
    return render(request, "lobsters/disguised.html", {"form": form})


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


@confidential
@sensitive_variables()
@require_POST
def reclaim(request: HttpRequest) -> HttpResponse:
    """Put one's name back under what was disguised."""
    form = ReclaimForm(viewer_of(request), request.POST)
    if form.is_valid():
        try:
            unlocked = request.edna.unlock(**form.credentials())
            receipt = keys.KEYS.own_receipt(form.cleaned_data["receipt"])
            outcome = edna.reveal(receipt, unlocked)
            if name_is_taken(outcome):
                return redirect("lobsters:return")
            return render(request, "lobsters/reclaimed.html", WAYS_BACK.about(outcome, unlocked))
        except edna.errors.EdnaError as error:
            form.add_error(None, WORDS.explain(error))
    return render(request, "lobsters/reclaim.html", {"form": form})


@confidential
@sensitive_variables()
@require_POST
def give_up(request: HttpRequest) -> HttpResponse:
    """Have erased what cannot come back, after a page that asks once more."""
    return WAYS_BACK.give_up(request)


@confidential
@sensitive_variables()
@require_POST
def edit(request: HttpRequest) -> HttpResponse:
    """Change a story or comment that stands under nobody's name. Its text is public; to save it takes its author's key."""
    kind, short_id = posted_name(request, "kind"), posted_name(request, "short_id")
    model: Any = {"story": Story, "comment": Comment}.get(kind)
    if model is None:
        raise Http404("There is nothing to edit.")
    row = get_object_or_404(model.objects.select_related("user"), short_id=short_id)
    if "text" not in request.POST:
        text = row.comment if kind == "comment" else row.description
        initial = {"kind": kind, "short_id": short_id, "title": getattr(row, "title", ""), "text": text}
        return render(
            request, "lobsters/edit_disguised.html", {"form": EditForm(kind, viewer_of(request), initial=initial)}
        )
    form = EditForm(kind, viewer_of(request), request.POST)
    if form.is_valid():
        data = form.cleaned_data
        try:
            request.edna.unlock(**form.credentials())
            with request.edna.speak_as(row, owner="user"):
                if kind == "comment":
                    edit_comment(request.user, row, data["text"])
                else:
                    edit_story(request.user, row, title=data["title"], description=data["text"])
        except edna.errors.EdnaError as error:
            form.add_error(None, WORDS.explain(error))
        else:
            messages.success(request, "Saved. It still stands under nobody’s name.")
            return redirect("lobsters:disguised")
    return render(request, "lobsters/edit_disguised.html", {"form": form})
