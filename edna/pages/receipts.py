"""The receipt on its pages: shown in the answer to a form, copied, printed, downloaded and mailed; stored nowhere.

What the page sends back to have it downloaded or mailed is the receipt with the site's signature: only what was shown here a short while
ago is mailed, and no more than a few times.
"""

from __future__ import annotations

import logging
from typing import Any, ClassVar, Final

from django import forms
from django.conf import settings
from django.contrib.auth import logout
from django.core import signing
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils.crypto import salted_hmac
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.debug import sensitive_variables

from edna import api
from edna.errors import ReceiptMalformed
from edna.offers import Offer
from edna.pages import words
from edna.pages.base import FormPage, Page, Shown

logger = logging.getLogger("edna")

_SALT: Final = "edna.pages.receipt"
_MAIL_WITHIN_SECONDS: Final = 3600
_MAILS: Final = 3


def signed(receipt: api.Receipt) -> Shown:
    return Shown(signing.dumps(str(receipt), salt=_SALT))


def read(token: str, *, within_seconds: int | None = None) -> api.Receipt:
    """
    Raises:
        ReceiptMalformed: this site has not signed it, or too long ago.
    """
    try:
        text = signing.loads(token, salt=_SALT, max_age=within_seconds)
    except signing.BadSignature:
        raise ReceiptMalformed("No page of this site has shown this receipt, or it was long ago.") from None
    return api.Receipt.parse(text)


def shown(receipt: api.Receipt, *, token: str = "") -> dict[str, Any]:
    """What ``edna/_receipt.html`` needs. Whoever has sent a ``token`` gets no younger one."""
    return {
        "receipt": receipt,
        "held": words.who_else_reads(receipt.disguise),
        "receipt_token": Shown(token) if token else signed(receipt),
        "mail_form": MailForm(),
        "mailed_to": "",
        "mail_problem": "",
    }


class ShowsReceipt(Page):
    """A page whose answer may be a receipt: the only one that shows it by itself."""

    done_template_name = "edna/done.html"

    def show_done(self, offer: Offer, receipt: api.Receipt, *, is_gone: bool) -> HttpResponse:
        """``is_gone``: the account went with it, so that whose it was is logged out."""
        if is_gone:
            logout(self.request)
        context = self.get_context_data(
            title=gettext("Good-bye") if is_gone else gettext("It is done"),
            offer=offer,
            is_gone=is_gone,
            logged_in=not is_gone and self.request.user.is_authenticated,
            only_by_receipt=offer.only_by_receipt,
            **shown(receipt),
        )
        plain = render_to_string("edna/receipt.txt", _facts(self, receipt))
        return _ReceiptResponse(self.request, [self.done_template_name], context, plain=Shown(plain))


class _ReceiptResponse(TemplateResponse):
    """Nobody is ever shown the receipt again. So it is shown as plain text where the site's frame fails, as one may that counts on an
    account of whoever is there: it is done already, and whose it was is logged out."""

    def __init__(self, *args: Any, plain: Shown, **options: Any) -> None:
        super().__init__(*args, **options)
        self._plain = plain

    @property
    @sensitive_variables()
    def rendered_content(self) -> str:
        try:
            return super().rendered_content
        except Exception as error:
            logger.exception(
                "The page with a receipt failed, and the receipt was shown as plain text: %s", type(error).__name__
            )
            self.headers["Content-Type"] = "text/plain; charset=utf-8"
            return str(self._plain)


class MailForm(forms.Form):
    """To which address; it is used once, and kept nowhere."""

    address = forms.EmailField(
        label=gettext_lazy("Mail it to"), widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )


class ReceiptFile(Page):
    """The receipt as a file of text."""

    login_required = False
    http_method_names = ["get", "post", "options"]

    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponseRedirect(self.address_of("bring-back"))

    @sensitive_variables()
    def post(self, request: HttpRequest) -> HttpResponse:
        receipt = read(request.POST.get("receipt_token", ""))
        text = render_to_string("edna/receipt.txt", _facts(self, receipt))
        name = f'attachment; filename="{receipt.disguise}.txt"'
        return HttpResponse(text, content_type="text/plain; charset=utf-8", headers={"Content-Disposition": name})


class ReceiptMail(FormPage):
    """Sends the receipt to the address that the person types, and shows it once more."""

    login_required = False
    form_class = MailForm
    template_name = "edna/receipt.html"
    title: ClassVar[str | Promise] = gettext_lazy("The receipt by mail")

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return HttpResponseRedirect(self.address_of("bring-back"))

    def submitted(self, form: Any) -> HttpResponse:
        again, address = self.shown_again(), form.cleaned_data["address"]
        receipt = again["receipt"]
        if not _may_mail(receipt):
            problem = gettext("It has been mailed several times already. Please copy it, or download it.")
        elif not self.send(receipt, address):
            problem = gettext("The mail could not be sent. Please copy the receipt, or download it.")
        else:
            return self.show(self.template_name, **again | {"mailed_to": address})
        return self.show(self.template_name, **again | {"mail_problem": problem})

    def shown_again(self) -> dict[str, Any]:
        """
        Raises:
            ReceiptMalformed: this site has not shown the receipt, or too long ago.
        """
        token = self.request.POST.get("receipt_token", "")
        return shown(read(token, within_seconds=_MAIL_WITHIN_SECONDS), token=token)

    @sensitive_variables()
    def send(self, receipt: api.Receipt, address: str) -> bool:
        """Whether it was sent. A site may send it in another way."""
        text = render_to_string("edna/receipt.txt", _facts(self, receipt))
        try:
            EmailMessage(gettext("Your receipt"), text, None, [address]).send()
        except Exception as error:  # whatever it is: the receipt must be seen
            logger.warning("A receipt could not be mailed: %s", type(error).__name__)
            return False
        return True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        if kwargs.get("form") is not None:  # it was not valid, and what it is about came along
            kwargs |= self.shown_again() | {"mail_form": kwargs["form"]}
        return super().get_context_data(**kwargs)


def _facts(page: Page, receipt: api.Receipt) -> dict[str, Any]:
    address = page.request.build_absolute_uri(page.address_of("bring-back"))
    return {
        "receipt": receipt,
        "held": words.who_else_reads(receipt.disguise),
        "bring_back_address": address,
        "site": page.request.get_host(),
    }


def _may_mail(receipt: api.Receipt) -> bool:
    """A cache that does not count lets it be sent: the signature expires."""
    key = f"edna:mail:{salted_hmac(_SALT, str(receipt), secret=settings.SECRET_KEY).hexdigest()}"
    try:
        cache.add(key, 0, timeout=_MAIL_WITHIN_SECONDS)
        return bool(cache.incr(key) <= _MAILS)
    except Exception:
        return True
