"""Django's own log-in, and the pages."""

from django.contrib.auth.views import LoginView
from django.urls import include, path

urlpatterns = [
    path("login/", LoginView.as_view(template_name="club/login.html", next_page="edna:home"), name="login"),
    path("privacy/", include("edna.urls")),
]
