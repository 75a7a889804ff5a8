"""The pages "my devices", where the server uses keys: what there is, another one, and one less.

Keeps: a device is acted on by another device of the same person alone, who is logged in; its id and the code of a new one travel in the
body of a form, never in an address that the server is sent. The key of a browser is in its cookie (`browsers`), and nothing of it is kept
here. Where keys stay in browsers a script does it all (``js/pages/devices.js``), and these pages hold what it shows. Where they are used on
either side, a page is the script's unless this browser has its key in a cookie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.dates import MONTHS
from django.utils.functional import Promise, cached_property
from django.utils.translation import gettext_lazy
from django.views.decorators.debug import sensitive_variables
from django.views.generic import View

from edna import api, clock, conf, devices
from edna.devices import browsers
from edna.devices.browsers import BroughtKey
from edna.devices.forms import CodeForm, FirstDeviceForm, NameForm, NewKeyForm
from edna.devices.shared import DevicePage, KeepsNewKey, WithDevice
from edna.errors import DeviceUnknown, NotYours, OperationRefused
from edna.pages.base import KeyPage, Shown
from edna.visitors import is_same

#: What a script finds out by itself.
_UNKNOWN: Final = dict.fromkeys(
    ("is_device", "is_removed", "code", "devices", "is_only_one", "group_code", "is_update_due"), ""
)


class Devices(DevicePage):
    """The devices; or, in a browser that is none, how it becomes one."""

    template_name = "edna/devices.html"
    title: ClassVar[str | Promise] = gettext_lazy("My devices")
    browser_hands = "devices"

    def get(self, request: HttpRequest) -> HttpResponseBase:
        key, removed = self.state.key, self.state.removed
        if key is None and removed is not None:
            devices.forget(removed.secret_key)
        response: HttpResponseBase = self.render_to_response(self.get_context_data())
        if key is not None:
            response = self.kept(response, BroughtKey(key.cookie, key.secret_key))
        elif removed is not None:
            browsers.forget(response, removed.cookie, path=self.path)
        return response

    def found(self, key: api.SecretKey) -> list[devices.Member]:
        """The devices, now that this one was here this month; nothing is written twice."""
        month, found = clock.now().strftime("%Y-%m"), devices.members(key)
        if any(each.is_own and each.last_seen != month for each in found):
            devices.catch_up(key)
            found = devices.members(key)
        return found

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**{**(_UNKNOWN if self.is_for_script else self.seen()), **kwargs})

    def seen(self) -> dict[str, Any]:
        """What this browser is, and which devices there are."""
        key, waiting = self.state.key, self.state.waiting
        found = self.found(key.secret_key) if key is not None else []
        return {
            "is_device": key is not None,
            "is_removed": self.state.removed is not None,
            "code": Shown(waiting.code) if waiting is not None and key is None else "",
            "devices": [described(each) for each in found],
            "is_only_one": len(found) == 1,
            "group_code": devices.group_code(key.secret_key) if key is not None else "",
            "is_update_due": key is not None and devices.pending(key.secret_key).is_update_due,
        }


def described(member: devices.Member) -> Mapping[str, Any]:
    """What the list says of a device."""
    year, _, month = member.last_seen.partition("-")
    seen = f"{MONTHS[int(month)]} {year}" if month.isdigit() and int(month) in MONTHS else ""
    return {"id": member.id.hex(), "name": Shown(member.name or "?"), "seen": seen, "is_own": member.is_own}


class FirstDevice(KeepsNewKey, KeyPage):
    """This browser becomes a device, and the key one that devices have."""

    template_name = "edna/devices_first.html"
    title: ClassVar[str | Promise] = gettext_lazy("My first device")
    button = gettext_lazy("Make this my first device")
    form_class = FirstDeviceForm
    browser_hands = "device-first"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if self.state.key is not None:
            return redirect(self.address_of("devices"))
        return self.with_new_key(super().get(request, *args, **kwargs))

    def shown_to_script(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        shown = super().shown_to_script(request, *args, **kwargs)
        # Without scripts the form is the site's.
        return self.with_new_key(shown) if conf.custody() == "both" else shown

    @sensitive_variables()
    def opened(self, form: Any, unlocked: api.Unlocked) -> HttpResponseBase:
        new = self.new_key(form)
        if new is None:
            return self.with_new_key(self.form_invalid(form))
        identifier = form.credentials().get("identifier", "")  # an account without a name has typed it
        devices.create(unlocked, name=form.cleaned_data["name"], new=new.secret_key)
        self.keep_password(new.secret_key, form.kept_password(), identifier=identifier)
        return self.kept(redirect(self.address_of("devices")), BroughtKey(new.cookie, new.secret_key))


class BeginDevice(DevicePage):
    """This browser shows a code, to be typed on a device that is there."""

    def shown_to_script(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return redirect(self.address_of("devices"))

    def get(self, request: HttpRequest) -> HttpResponse:
        return redirect(self.address_of("devices"))

    @sensitive_variables()
    def post(self, request: HttpRequest) -> HttpResponseBase:
        response = redirect(self.address_of("devices"))
        if self.state.key is not None:
            return response
        new = self.begun()
        self.forget_waiting()
        return self.kept(response, BroughtKey(browsers.new_name(), new.secret_key, new.code))

    @sensitive_variables()
    def forget_waiting(self) -> None:
        """What this browser has shown to this person before: its cookie goes, and nobody else could find it to delete it."""
        for former in (self.state.waiting, *self.state.late):
            # Of a key that no form has used, nothing is here; what was added just now stays.
            with suppress(DeviceUnknown, OperationRefused):
                if former is not None:
                    devices.forget(former.secret_key)


class AddDevice(WithDevice):
    """The code of a new device is typed."""

    template_name = "edna/devices_form.html"
    title: ClassVar[str | Promise] = gettext_lazy("Add a device")
    button = gettext_lazy("Add it")
    form_class = CodeForm
    browser_hands = "device-add"

    def submitted(self, form: Any) -> HttpResponseBase:
        data = form.cleaned_data
        devices.add(self.key.secret_key, data["code"], name=data["name"])
        return self.listed()

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**{"act": "add", "device": None, **kwargs})


class KeyOnPaper(WithDevice):
    """A device that nobody holds: its key is shown once."""

    template_name = "edna/devices_form.html"
    title: ClassVar[str | Promise] = gettext_lazy("A key to keep")
    button = gettext_lazy("Make it")
    form_class = NameForm
    browser_hands = "device-paper"

    @sensitive_variables()
    def submitted(self, form: Any) -> HttpResponseBase:
        key = self.key.secret_key  # whoever has none leaves nothing behind
        new = self.begun()
        devices.add(key, new.code, name=form.cleaned_data["name"])
        self.request.edna.mark()  # type: ignore[attr-defined]  # of EdnaMiddleware
        name, text = Shown(form.cleaned_data["name"]), Shown(new.secret_key.expose_text())
        return self.show("edna/devices_key.html", title=self.title, name=name, key=text)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**{"act": "paper", "device": None, **kwargs})


class _OfDevice(WithDevice):
    """About one device, which the list posts: the form is shown first, and what it sends is done."""

    template_name = "edna/devices_form.html"
    act: ClassVar[str] = ""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return self.listed()

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        if self.device is None:
            return self.listed()
        if "sure" not in request.POST:
            return self.asked(self.render_to_response(self.get_context_data(form=self.fresh())))
        return super().post(request, *args, **kwargs)

    @cached_property
    def device(self) -> devices.Member | None:
        """Which one; None if it is gone meanwhile, a script alone knows, or this browser is no device."""
        if self.is_for_script or self.state.key is None:
            return None
        asked = self.request.POST.get("device", "")
        found = devices.members(self.key.secret_key)
        return next((each for each in found if each.id.hex() == asked and self.may_be(each)), None)

    def may_be(self, device: devices.Member) -> bool:
        return True

    def asked(self, response: HttpResponse) -> HttpResponse:
        """The answer with the form."""
        return response

    def fresh(self) -> forms.Form:
        """Not bound: nothing is typed into it yet."""
        options = self.get_form_kwargs()
        made: forms.Form = self.get_form_class()(
            **{name: options[name] for name in options if name not in ("data", "files")}
        )
        return made

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        shown = described(self.device) if self.device is not None else None
        return super().get_context_data(**{"act": self.act, "device": shown, **kwargs})


class RenameDevice(_OfDevice):
    """Another name."""

    title: ClassVar[str | Promise] = gettext_lazy("Another name")
    button = gettext_lazy("Rename it")
    act = "rename"
    browser_hands = "device-rename"
    form_class = NameForm

    def get_initial(self) -> dict[str, Any]:
        return {**super().get_initial(), "name": self.device.name if self.device is not None else ""}

    def submitted(self, form: Any) -> HttpResponseBase:
        assert self.device is not None
        devices.rename(self.key.secret_key, self.device.id, form.cleaned_data["name"])
        return self.listed()


class _NewKey(_OfDevice):
    """What replaces the key: the password may open the new one, too."""

    is_grave = True
    form_class = NewKeyForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "user": self.request.user}

    def submitted(self, form: Any) -> HttpResponseBase:
        if conf.custody() == "both" and form.kept_password():
            self.require_opens(form.kept_password())
        # Asked before anything is replaced: an account may have no name now with which a password could go.
        identifier = self.pages.identifier_of(self.request.user) if form.kept_password() else ""
        return self.replaced(form, identifier=identifier)

    @sensitive_variables()
    def require_opens(self, password: str) -> None:
        """The password of a key is another one than that of the log-in, if its owner has chosen one: it opens the new key if it opens this.

        Raises:
            WrongCredentials, NotYours
        """
        identifier = self.pages.identifier_of(self.request.user)
        with api.unlock(identifier=identifier, password=password) as unlocked:
            if not is_same(api.principal(unlocked), self.request.user):
                raise NotYours("This password opens the key of another account than the one that is logged in.")

    def replaced(self, form: Any, *, identifier: str) -> HttpResponseBase:
        """As `submitted`, with a password that is known to open the key, and what goes with it; or none."""
        raise NotImplementedError

    def done(self) -> HttpResponse:
        return self.show("edna/devices_done.html", title=self.title, act=self.act, device=None)


class RemoveDevice(_NewKey):
    """A device goes: it opens nothing that is here from then on."""

    title: ClassVar[str | Promise] = gettext_lazy("Remove a device")
    button = gettext_lazy("Remove it")
    act = "remove"
    browser_hands = "device-remove"

    def may_be(self, device: devices.Member) -> bool:
        return not device.is_own

    @sensitive_variables()
    def replaced(self, form: Any, *, identifier: str) -> HttpResponseBase:
        assert self.device is not None
        devices.remove(self.key.secret_key, self.device.id)
        self.keep_password(self.key.secret_key, form.kept_password(), identifier=identifier)
        return self.done()


class UpdateDevice(KeepsNewKey, _NewKey):
    """Another key for this device: somebody may have copied it."""

    title: ClassVar[str | Promise] = gettext_lazy("Another key for this device")
    button = gettext_lazy("Replace its key")
    act = "update"
    browser_hands = "device-update"

    def may_be(self, device: devices.Member) -> bool:
        return device.is_own

    def asked(self, response: HttpResponse) -> HttpResponse:
        return self.with_new_key(response)

    @sensitive_variables()
    def replaced(self, form: Any, *, identifier: str) -> HttpResponseBase:
        new = self.new_key(form)
        if new is None:
            return self.with_new_key(self.form_invalid(form))
        devices.update(self.key.secret_key, new=new.secret_key)
        self.keep_password(new.secret_key, form.kept_password(), identifier=identifier)
        return self.kept(self.done(), BroughtKey(new.cookie, new.secret_key))


def patterns(page: Callable[[str, type[View], str], Any]) -> list[Any]:
    """``page`` makes one, of its route, its view and its name."""
    return [
        page("devices/", Devices, "devices"),
        page("devices/first/", FirstDevice, "devices-first"),
        page("devices/begin/", BeginDevice, "devices-begin"),
        page("devices/add/", AddDevice, "devices-add"),
        page("devices/paper/", KeyOnPaper, "devices-paper"),
        page("devices/rename/", RenameDevice, "devices-rename"),
        page("devices/remove/", RemoveDevice, "devices-remove"),
        page("devices/update/", UpdateDevice, "devices-update"),
    ]
