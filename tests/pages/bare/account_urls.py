"""The same site with what a site does for the key: at the login, and where passwords change; and a page of settings of its own."""

from django.contrib.auth.views import LoginView, LogoutView, PasswordChangeView, PasswordResetConfirmView
from django.db.models import QuerySet
from django.urls import path
from django.views.generic import TemplateView

from edna import api
from edna.pages.editing import EditDisowned
from edna.pages.keys import GivesKeyAtLogin, KeepsKey, LeadsToKey
from edna.urls import Pages
from tests.pages.bare.club.models import Comment


class Login(GivesKeyAtLogin, LoginView):
    template_name = "club/login.html"
    next_page = "edna:home"


class Change(KeepsKey, PasswordChangeView):
    template_name = "club/login.html"
    success_url = "/settings/"


class Reset(LeadsToKey, PasswordResetConfirmView):
    template_name = "club/login.html"
    success_url = "/login/"


class EditRemark(EditDisowned):
    title, button = "Correct a remark", "Save"
    fields = ("text",)

    def get_queryset(self) -> QuerySet[Comment]:
        return Comment.objects.all()

    def get_success_url(self) -> str:
        return "/settings/"


class Club(Pages):
    def title_of(self, entry: api.HistoryEntry | api.Waiting) -> str:
        return "Remarks by nobody" if entry.name == "club.disown-remarks" else super().title_of(entry)


urlpatterns = [
    path("login/", Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(next_page="login")),
    path("password/", Change.as_view()),
    path("reset/<uidb64>/<token>/", Reset.as_view()),
    path("settings/", TemplateView.as_view(template_name="club/settings.html")),
    path("remarks/<int:pk>/edit/", EditRemark.as_view(), name="edit-remark"),
    path("privacy/", Club(edits={"club.Comment": "edit-remark"}).urls),
]
