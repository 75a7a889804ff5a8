"""What the pages of the key share: whose it is, the page of a new code, and one password for two things.

Keeps: the password that logs somebody in is the one that opens their key.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_variables

from edna import api
from edna.errors import NotYours
from edna.pages.base import Page
from edna.visitors import has_password, is_same


def require_own(unlocked: api.Unlocked, user: Any) -> None:
    """
    Raises:
        NotYours: the key is of another account than the one that is logged in.
    """
    if user.is_authenticated and not is_same(api.principal(unlocked), user):
        raise NotYours("This is the key of another account than the one that is logged in. Nothing was changed.")


@sensitive_variables()
def set_password(account: Any, password: str) -> None:
    """Let it log in to the account, in the caller's transaction, unless it does already or the account has none.

    Raises:
        ValidationError: it is too like the account.
    """
    if not has_password(account) or account.check_password(password):
        return
    try:
        validate_password(password, account)
    except ValidationError as error:
        raise ValidationError({"new_password": error.messages}) from None
    account.set_password(password)
    account.save(using=account._state.db, update_fields=["password"])


def together(account: Any) -> Any:
    """A transaction for what is changed of the account and of its key."""
    return transaction.atomic(using=account._state.db)


class ShowsCode(Page):
    """A page whose answer may be a new recovery code: the only one that ever has it."""

    #: The file that is downloaded.
    code_file_name = "recovery-code.txt"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        more = {"code_file_name": self.code_file_name, "site": self.request.get_host()}
        return super().get_context_data(**{**more, **kwargs})

    def show_code(self, code: api.RecoveryCode | None, **context: Any) -> HttpResponse:
        request = self.request
        return self.show(
            "edna/recovery_code.html",
            title=gettext_lazy("Your recovery code"),
            code=code,
            whose=self.pages.login_name_of(request.user),
            site=request.get_host(),
            is_alone=request.user.is_authenticated and not has_password(request.user),
            **{"is_replaced": False, "password_is_set": False, **context},
        )
