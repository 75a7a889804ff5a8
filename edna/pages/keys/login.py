"""A key for those who have an account already: made when they log in, the one moment at which their password is there.

Does not know: logins without a password.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_variables

from edna import api, conf, inner_door
from edna.errors import EdnaError
from edna.pages import words
from edna.pages.people import People
from edna.visitors import is_principal

if TYPE_CHECKING:
    from django.contrib.auth.views import LoginView as _View
else:
    _View = object

logger = logging.getLogger("edna")


@sensitive_variables()
def give_key_at_login(
    user: Any, *, password: str, identifier: str | None = None, has_code: bool = True
) -> api.Registration | None:
    """Give somebody a key that this password opens, with a recovery code, if they have none yet. Costs one statement if they have.

    A login never fails because of it: None is returned, and the log says why, where no key could be made. With ``EDNA["CUSTODY"]``
    "browser" none is: people make theirs on the page for that. ``has_code=False``, where nobody is shown it: then no recovery code is
    made, and the pages remind people until they make one.
    """
    return _give_key(user, password=password, identifier=identifier, has_code=has_code)


@sensitive_variables()
def _give_key(user: Any, *, password: str, identifier: str | None, has_code: bool) -> api.Registration | None:
    register = api.register_principal if has_code else inner_door.register_without_code
    try:
        if conf.custody() == "browser" or not is_principal(user) or api.is_registered(user):
            return None
        return register(user, password=password, identifier=identifier)
    except EdnaError as error:
        logger.warning("At a login, no key could be made: %s.", type(error).__name__)
        return None


class GivesKeyAtLogin(_View):
    """Mix it into the site's ``LoginView``, in front: ``class Login(GivesKeyAtLogin, LoginView)``.

    Whoever has no key gets one. A login leads where the person wanted to go, so that no recovery code is shown, and none is made. The
    first page and the account fragment remind them until they make one, on the page for that.
    """

    pages = People()

    @sensitive_variables()
    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        # After the login, which may be refused.
        user = form.get_user()
        has_none = self.pages.is_for(user) and not api.is_registered(user)
        if has_none and conf.custody() == "browser":
            # It is made in the browser, and shall not be opened by what the log-in has sent.
            address = self.pages.make_key_address()
            return redirect(f"{address}?{urlencode({'next': response['Location']})}") if address else response
        if has_none:
            identifier = self.pages.identifier_of(user)
            _give_key(user, password=form.cleaned_data["password"], identifier=identifier, has_code=False)
        return response


class TellsWhatWaits(_View):
    """Mix it into the site's ``LoginView``, in front: whoever logs in is told by a message what of theirs is not back yet.

    The password opens the key for it; whose key it does not open is told nothing. Where a site lets only so many requests a
    second use keys, that is left to those who ask for it: the page of what is hidden tells the same.
    """

    pages = People()

    @sensitive_variables()
    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        if (
            conf.custody() != "browser"
            and self.pages.is_for(form.get_user())
            and conf.request_rate_per_second() is None
        ):
            self._tell(self.request, form.get_user(), password=form.cleaned_data["password"])
        return response

    @sensitive_variables()
    def _tell(self, request: HttpRequest, user: Any, *, password: str) -> None:
        try:
            identifier = self.pages.identifier_of(user)
            with api.unlock(identifier=identifier, password=password, principal=user) as unlocked:
                waiting = [entry for entry in api.waiting(unlocked) if self.pages.concern(entry.name)]
        except EdnaError:
            return
        rows = {(row.model, str(row.pk)) for entry in waiting for row in entry.held}
        ready: Counter[str] = Counter()
        for entry in waiting:
            ready.update(entry.ready)
        if held := words.counts(Counter(model for model, _ in rows)):
            sentence = gettext(
                "Of what is yours, this could not come back yet: %(what)s. “What is hidden now” says why."
            )
            messages.warning(request, sentence % {"what": ", ".join(held)}, fail_silently=True)
        if back := words.counts(ready):
            sentence = gettext(
                "Of what is yours, this can come back now: %(what)s. “What is hidden now” brings it back."
            )
            messages.info(request, sentence % {"what": ", ".join(back)}, fail_silently=True)
