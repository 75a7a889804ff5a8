"""Django's own log-in, and the pages."""

from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.urls import include, path

urlpatterns = [
    path("favicon.ico", lambda request: HttpResponse(status=204)),
    path("login/", LoginView.as_view(template_name="club/login.html", next_page="edna:home"), name="login"),
    path("privacy/", include("edna.urls")),
]
