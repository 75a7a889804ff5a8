"""One password for two things: the login of an account, and its owner's key. Set here, the two never part.

Does not know what people of an application log in with: the identifier arrives as an argument.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

import edna


@sensitive_variables()
def set_password(account: Any, unlocked: edna.Unlocked, *, identifier: str, password: str) -> None:
    """Let this password log in to the account and open its key, together with the identifier; what did before does not any more.

    Raises:
        ValidationError: it is too like the account. Neither was changed then, as for edna's own errors.
    """
    with transaction.atomic():
        if not account.check_password(password):
            try:
                validate_password(password, account)
            except ValidationError as error:
                raise ValidationError({"new_password": error.messages}) from None
            account.set_password(password)
            account.save(update_fields=["password"])
        edna.change_password(unlocked, identifier=identifier, password=password)
