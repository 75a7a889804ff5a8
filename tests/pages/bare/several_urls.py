"""The pages twice: as they are, and as one kind of members has them, with a frame, a log-in and a first page of their own."""

from django.urls import include, path
from django.views.generic import TemplateView

from edna.pages.home import Home
from edna.urls import Pages


class Diary(Home):
    title = "Your diary"


members = Pages(
    name="members",
    user_model="auth.User",
    login_url="/members/login/",
    base_template_name="club/frame.html",
    views={"home": Diary},
)

urlpatterns = [
    path("first/", include("edna.urls")),
    path("second/", include(("edna.urls", "edna"), namespace="second")),
    path("members/privacy/", members.urls),
    path("settings/", TemplateView.as_view(template_name="club/settings_of_members.html")),
    path("diary/", Diary.as_view(pages=members)),
]
