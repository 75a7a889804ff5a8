"""Private messages. Each belongs to two people; either may delete it for themselves."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from apps.showcase.once import once
from apps.showcase.transactions import posts_atomically

from .. import listing
from ..forms import MessageForm
from ..models import Message, User
from .guards import member, viewer_of


def _theirs(viewer: User | None) -> QuerySet[Message]:
    """What this member may read."""
    return Message.objects.filter(
        Q(author_user=viewer, deleted_by_author=False) | Q(recipient_user=viewer, deleted_by_recipient=False)
    ).select_related("author_user", "recipient_user")


@member
def inbox(request: HttpRequest, page: int = 1) -> HttpResponse:
    rows = Message.objects.filter(recipient_user=viewer_of(request), deleted_by_recipient=False)
    found = listing.page_of(_latest(rows), page, listing.ENTRIES_PER_PAGE, "messages")
    return render(request, "lobsters/messages.html", {"page": found, "box": "messages"})


@member
def sent(request: HttpRequest, page: int = 1) -> HttpResponse:
    rows = Message.objects.filter(author_user=viewer_of(request), deleted_by_author=False)
    found = listing.page_of(_latest(rows), page, listing.ENTRIES_PER_PAGE, "sent")
    return render(request, "lobsters/messages.html", {"page": found, "box": "sent"})


def _latest(rows: QuerySet[Message]) -> QuerySet[Message]:
    return rows.select_related("author_user", "recipient_user").defer("body").order_by("-created_at", "-pk")


@member
def read(request: HttpRequest, short_id: str) -> HttpResponse:
    """One message; to have opened it is to have read it."""
    viewer = viewer_of(request)
    message = get_object_or_404(_theirs(viewer), short_id=short_id)
    if viewer is not None and message.recipient_user_id == viewer.pk and not message.has_been_read:
        Message.objects.filter(pk=message.pk).update(has_been_read=True)
    other = message.author_user if message.author_user != viewer else message.recipient_user
    return render(request, "lobsters/message.html", {"message": message, "other": other})


@member
@once
@posts_atomically
def write(request: HttpRequest) -> HttpResponse:
    initial = {"recipient": request.GET.get("to", "")[:50], "subject": request.GET.get("subject", "")[:100]}
    form = MessageForm(request.POST or None, initial=initial)
    if form.is_valid():
        form.instance.author_user = viewer_of(request)
        form.instance.recipient_user = form.cleaned_data["recipient"]
        form.save()
        messages.success(request, "Your message is sent.")
        return redirect("lobsters:sent")
    return render(request, "lobsters/write_message.html", {"form": form})


@member
@once
@require_POST
@posts_atomically
def delete(request: HttpRequest, short_id: str) -> HttpResponse:
    """For oneself; the row goes when both have.

    A placeholder's mark may be undone by its owner's return, so a message that one side of is disguised is kept.
    """
    viewer = viewer_of(request)
    message = get_object_or_404(_theirs(viewer).select_for_update(), short_id=short_id)
    if message.author_user == viewer:
        message.deleted_by_author = True
    if message.recipient_user == viewer:
        message.deleted_by_recipient = True
    both_here = message.author_user.is_active and message.recipient_user.is_active
    if both_here and message.deleted_by_author and message.deleted_by_recipient:
        message.delete()
    else:
        message.save(update_fields=["deleted_by_author", "deleted_by_recipient"])
    messages.success(request, "The message is deleted.")
    return redirect("lobsters:messages")
