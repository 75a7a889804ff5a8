"""Logging in: with e-mail address and password, into an account of the conference."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.http import HttpRequest

import edna

from .models import ContactInfo


def identifier(email: str) -> str:
    """What edna derives a password's key from. Prefixed: the same address and password may open an account of another application."""
    return f"hotcrp:{ContactInfo.objects.normalize_email(email)}"


class HotcrpBackend(BaseBackend):
    """Takes ``hotcrp_email`` and ``password``, so that Django does not ask it about logins of other applications, nor them about these."""

    def authenticate(  # type: ignore[override]
        self, request: HttpRequest | None, *, hotcrp_email: str, password: str
    ) -> ContactInfo | None:
        found = ContactInfo.objects.filter(email=ContactInfo.objects.normalize_email(hotcrp_email)).first()
        if found is None:
            # As slow as a wrong password: the time must not tell which addresses have an account.
            ContactInfo().set_password(password)
        if found is None or not found.check_password(password):
            found = _by_key(hotcrp_email, password)
        return found if found is not None and found.is_active else None

    def get_user(self, user_id: Any) -> ContactInfo | None:
        found = ContactInfo.objects.filter(pk=user_id).first()
        return found if found is not None and found.is_active else None


def _by_key(email: str, password: str) -> ContactInfo | None:
    """Whose key the two open: once the conference is anonymised, the account does not have the address any more."""
    try:
        with edna.unlock(identifier=identifier(email), password=password) as unlocked:
            found = edna.principal(unlocked)
    except edna.errors.TooBusy:
        raise  # nobody has looked whether the password is right
    except edna.errors.EdnaError:
        return None
    return found if isinstance(found, ContactInfo) else None
