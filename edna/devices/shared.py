"""What the pages "my devices" have in common: what this browser is to who is logged in, its new key, and the password beside devices.

Keeps: a new key is in the browser before anything is done with it, so that an answer that is lost loses none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_variables

from edna import api, conf, devices
from edna.devices import browsers
from edna.devices.browsers import BroughtKey
from edna.errors import DeviceGroupEnded, DeviceRemoved, DeviceUnknown, EdnaError, NotYours
from edna.pages.base import FormPage, Page


@dataclass(frozen=True, repr=False)
class State:
    """What this browser is to who is logged in. ``key`` is that of a device in the group; ``waiting`` shows its code; ``removed`` was one,
    of this group or one that has ended; ``new`` will be one. What is ``unknown`` may have been replaced by another key; what is ``late``
    was made for a device too long ago."""

    key: BroughtKey | None = None
    waiting: BroughtKey | None = None
    removed: BroughtKey | None = None
    new: BroughtKey | None = None
    unknown: tuple[BroughtKey, ...] = ()
    late: tuple[BroughtKey, ...] = ()

    @property
    def is_in_cookie(self) -> bool:
        """Whether there is one that this person has used: what came along with a form is none yet."""
        return self.key is not None or self.waiting is not None or self.removed is not None


class DevicePage(Page):
    """What all of them know: what this browser is."""

    key_required = True
    #: What a script does with the page where keys stay in browsers: all of it.
    browser_hands: ClassVar[str] = ""

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().setup(request, *args, **kwargs)
        if conf.custody() == "browser":
            vars(self).update(get=self.shown_to_script, post=self.shown_to_script)
        elif conf.custody() == "both":
            vars(self).update(get=self.shown_to_either)

    @cached_property
    def is_for_script(self) -> bool:
        """Whether a script does it all. Where keys are used on either side: unless this browser has its own in a cookie."""
        return conf.custody() == "browser" or (conf.custody() == "both" and not self.state.is_in_cookie)

    def shown_to_script(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """The page with everything in it that a script may show."""
        return self.render_to_response(self.get_context_data())

    def shown_to_either(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The script's page, or the site's. What a form sends to the site is the site's: a script sends none."""
        own: Any = type(self).get  # type: ignore[attr-defined]  # of the page that it is
        shown: HttpResponseBase = (self.shown_to_script if self.is_for_script else own.__get__(self))(
            request, *args, **kwargs
        )
        return shown

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        more = {"hands": self.browser_hands, "may_have_passkey": False} if self.is_for_script else {}
        return super().get_context_data(**{**more, **kwargs})

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not conf.has_devices():
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    @cached_property
    @sensitive_variables()
    def state(self) -> State:
        key = waiting = removed = new = None
        unknown, late = [], []
        for each in browsers.brought_keys(self.request):
            try:
                browsers.own(self.request, each).close()
                key = each
            except (DeviceRemoved, DeviceGroupEnded):
                removed = each
            except DeviceUnknown:
                if not each.is_own:
                    continue  # somebody may know it who is not logged in now
                if each.is_late:
                    late.append(each)
                elif each.code:
                    waiting = each
                elif each.is_new:
                    new = each
                else:
                    unknown.append(each)
            except NotYours:
                continue
        return State(key, waiting, removed, new, tuple(unknown), tuple(late))

    @property
    def path(self) -> str:
        """Where cookies are sent to."""
        return self.address_of("home")

    def begun(self) -> devices.NewDevice:
        """A new device, which counts for who is logged in."""
        user: Any = self.request.user
        return devices.begin(person=user)

    @sensitive_variables()
    def kept(self, response: HttpResponseBase, brought: BroughtKey) -> HttpResponseBase:
        """An answer after which this browser keeps that key, in the place of what it had of this person."""
        state = self.state
        formers: tuple[BroughtKey | None, ...] = () if brought.is_new else (state.waiting, state.removed, state.key)
        # Only for a key that works: after a restored backup an older one may be there again.
        formers += state.unknown if not (brought.is_new or brought.code) else ()
        for former in (*formers, *state.late):
            if former is not None and former.cookie != brought.cookie:
                browsers.forget(response, former.cookie, path=self.path)
        browsers.keep(response, brought, request=self.request, path=self.path)
        self.request.edna.mark()  # type: ignore[attr-defined]  # of EdnaMiddleware
        return response

    @sensitive_variables()
    def keep_password(self, key: api.SecretKey, password: str, *, identifier: str) -> None:
        """Have it open the key that has just taken the place of another."""
        if password:
            with devices.unlock(key) as unlocked:
                api.change_password(unlocked, identifier=identifier, password=password)


class KeepsNewKey(DevicePage):
    """A page whose form gives this browser a new key. It is kept with the form, before anything is done with it."""

    @sensitive_variables()
    def with_new_key(self, response: HttpResponse) -> HttpResponse:
        """An answer with the form: the browser has the new key by the time it sends the form."""
        if self.state.new is None:
            new = BroughtKey(browsers.new_name(), devices.new_key(), is_new=True)
            self.kept(response, new)
        return response

    def new_key(self, form: Any) -> BroughtKey | None:
        """The one that it has; None, and the form says why, if it keeps none, or one from too long ago: the form comes with another."""
        if self.state.new is None and any(each.is_new for each in self.state.late):
            form.add_error(
                None,
                gettext("This page was open for too long. Nothing was changed; please fill it in and send it again."),
            )
        elif self.state.new is None:
            form.add_error(
                None, gettext("Your browser has kept no cookie, so that it cannot be a device. Nothing was changed.")
            )
        return self.state.new


class WithDevice(DevicePage, FormPage):
    """A page for a browser that is a device; any other is led to where it becomes one."""

    @property
    def key(self) -> BroughtKey:
        """That of this device.

        Raises:
            DeviceUnknown: it is none.
        """
        if self.state.key is None:
            raise DeviceUnknown("This browser is no device of who is logged in. Nothing was changed.")
        return self.state.key

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return super().get(request, *args, **kwargs) if self.key else self.listed()

    def refused(self, error: EdnaError) -> HttpResponse:
        return self.listed() if isinstance(error, DeviceUnknown) else super().refused(error)

    def listed(self) -> HttpResponse:
        return redirect(self.address_of("devices"))
