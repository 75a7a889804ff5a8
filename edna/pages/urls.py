"""The addresses of the pages, in the namespace ``edna``. No secret, and nobody's id, is ever part of one."""

from __future__ import annotations

from django.urls import include, path

from edna.pages import applying, hidden_data, home, receipts, returning

urlpatterns = [
    path("", home.Home.as_view(), name="home"),
    path("do/<str:name>/", applying.Apply.as_view(), name="apply"),
    path("hidden/", hidden_data.Hidden.as_view(), name="hidden"),
    path("back/", returning.BringBack.as_view(), name="bring-back"),
    path("give-up/", returning.GiveUp.as_view(), name="give-up"),
    path("receipt/file/", receipts.ReceiptFile.as_view(), name="receipt-file"),
    path("receipt/mail/", receipts.ReceiptMail.as_view(), name="receipt-mail"),
    path("", include("edna.pages.keys.urls")),
]
