"""The site with a page that does not catch edna's errors."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def unlock(request: HttpRequest) -> HttpResponse:
    request.edna.unlock(identifier="bea@example.org", password="a long walk home")
    return HttpResponse()


urlpatterns = [path("unlock/", unlock), path("", include("config.urls"))]
