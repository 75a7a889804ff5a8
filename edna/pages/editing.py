"""Changing what one has disowned, on a page of the site's own: by the key, in the placeholder's name, for one request.

Keeps: nothing is saved but as the owner of the row, whom the key speaks for; nobody's key outlives the request. Does not know who may
read a row: a site says which ones its page shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.db.models import Model, QuerySet
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404

from edna import api
from edna.pages.base import KeyPage
from edna.pages.forms import KeyForm


class RowForm(KeyForm, forms.ModelForm):  # type: ignore[type-arg]  # takes none when it runs
    """The key, behind fields of a row."""


class EditDisowned(KeyPage):
    """``path("stories/<int:pk>/edit", EditStory.as_view())``: a site says of which rows, which ``fields``, and where it goes then."""

    fields: ClassVar[Sequence[str]] = ()
    login_required = False
    key_required = False
    template_name = "edna/key_page.html"
    #: Who speaks for whom, where the browser keeps the key.
    hands = "voices"

    def get_queryset(self) -> QuerySet[Any]:
        """Rows that everybody may read: the page shows them before it knows who asks."""
        raise NotImplementedError

    def get_success_url(self) -> str:
        """Where the row is to be seen; ``self.object`` is it."""
        raise NotImplementedError

    def get_form_class(self) -> type[Any]:
        return forms.modelform_factory(self.object.__class__, form=RowForm, fields=self.fields)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "instance": self.object}

    @property
    def object(self) -> Model:
        """The row, read once for a request."""
        if not hasattr(self, "_row"):
            self._row: Model = get_object_or_404(self.get_queryset(), pk=self.kwargs["pk"])
        return self._row

    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponse:
        with self.request.edna.speak_as(self.object):  # type: ignore[attr-defined]  # of EdnaMiddleware
            form.save()
        return HttpResponseRedirect(self.get_success_url())
