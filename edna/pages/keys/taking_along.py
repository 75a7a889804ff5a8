"""Taking one's data along: all of it as JSON, or what is hidden as it is locked, for a page that opens it without the site.

Keeps: the answer is the file, and no copy of it is anywhere.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from django import forms
from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from edna import api
from edna.pages.base import KeyPage
from edna.pages.forms import ReceiptsForm

READABLE, LOCKED = "readable", "locked"


class TakeAlongForm(ReceiptsForm):
    """The key, and which file."""

    kind = forms.ChoiceField(
        label=gettext_lazy("Which file?"),
        choices=[
            (READABLE, gettext_lazy("Everything that is mine, readable (JSON)")),
            (LOCKED, gettext_lazy("What is hidden, still locked; my recovery code opens it")),
        ],
        widget=forms.RadioSelect,
        initial=READABLE,
    )
    field_order = ("kind", "identifier", "password", "receipts", "recovery_code", "secret_key")

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        is_by_device = self.is_brought and not any(data.get(name) for name in self.other_ways)
        if data.get("kind") == LOCKED and (data.get("password") or is_by_device) and not self.errors:
            # At its field, which is folded away otherwise.
            problem = gettext("Give your recovery code instead of the password: it is what opens this file later.")
            self.add_error("recovery_code", problem)
        return data


class TakeAlong(KeyPage):
    """What is somebody's, as a file."""

    template_name = "edna/take_along.html"
    is_asked_anew = True
    title: ClassVar[str | Promise] = gettext_lazy("Take your data along")
    button = gettext_lazy("Download")
    form_class = TakeAlongForm
    hands = "take"
    login_required = False

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        if form.cleaned_data["kind"] == LOCKED:
            code = form.cleaned_data["recovery_code"].strip() or None
            return _file("my-locked-data.json", api.export_sealed(unlocked, recovery_code=code))
        return _file("my-data.json", json.dumps(api.export(unlocked), ensure_ascii=False, indent=2))


def _file(name: str, text: str) -> HttpResponse:
    return HttpResponse(
        text,
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"},
    )
