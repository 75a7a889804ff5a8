"""The same site with what a site does for the key: at the login, and where passwords change; and a page of settings of its own."""

from django.contrib.auth.views import LoginView, PasswordChangeView, PasswordResetConfirmView
from django.urls import include, path
from django.views.generic import TemplateView

from edna.pages.keys import GivesKeyAtLogin, KeepsKey, LeadsToKey


class Login(GivesKeyAtLogin, LoginView):
    template_name = "club/login.html"
    next_page = "edna:home"


class Change(KeepsKey, PasswordChangeView):
    template_name = "club/login.html"
    success_url = "/settings/"


class Reset(LeadsToKey, PasswordResetConfirmView):
    template_name = "club/login.html"
    success_url = "/login/"


urlpatterns = [
    path("login/", Login.as_view(), name="login"),
    path("password/", Change.as_view()),
    path("reset/<uidb64>/<token>/", Reset.as_view()),
    path("settings/", TemplateView.as_view(template_name="club/settings.html")),
    path("privacy/", include("edna.urls")),
]
