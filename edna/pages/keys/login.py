"""A key for those who have an account already: made when they log in, the one moment at which their password is there.

Does not know: logins without a password.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

from edna import api
from edna.errors import EdnaError
from edna.visitors import is_principal

if TYPE_CHECKING:
    from django.contrib.auth.views import LoginView as _View
else:
    _View = object

logger = logging.getLogger("edna")


@sensitive_variables()
def give_key_at_login(user: Any, *, password: str, identifier: str | None = None) -> api.Registration | None:
    """Give somebody a key that this password opens, with a recovery code, if they have none yet. Costs one statement if they have.

    A login never fails because of it: None is returned, and the log says why, where no key could be made.
    """
    try:
        if not is_principal(user) or api.is_registered(user):
            return None
        return api.register_principal(user, password=password, identifier=identifier)
    except EdnaError as error:
        logger.warning("At a login, no key could be made: %s.", type(error).__name__)
        return None


class GivesKeyAtLogin(_View):
    """Mix it into the site's ``LoginView``, in front: ``class Login(GivesKeyAtLogin, LoginView)``.

    Whoever has no key gets one, and may have a recovery code for it at any time, on the page for that. The code that is made here is shown
    to nobody: a login leads where the person wanted to go.
    """

    @sensitive_variables()
    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        # After the login, which may be refused.
        give_key_at_login(form.get_user(), password=form.cleaned_data["password"])
        return response
