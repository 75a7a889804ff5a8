"""The addresses of the pages of the key. None of them has a secret, or anybody's id, in it."""

from __future__ import annotations

from django.urls import path

from edna.pages.keys import erasing, key_and_code, passwords, returning, taking_along

urlpatterns = [
    path("key/", key_and_code.MakeKey.as_view(), name="make-key"),
    path("key/code/", key_and_code.RecoveryCode.as_view(), name="recovery-code"),
    path("key/new/", key_and_code.ReplaceKey.as_view(), name="replace-key"),
    path("forgotten/", passwords.Forgotten.as_view(), name="forgotten"),
    path("return/", returning.Return.as_view(), name="return"),
    path("delete/", erasing.DeleteForGood.as_view(), name="delete"),
    path("take-along/", taking_along.TakeAlong.as_view(), name="take-along"),
]
