"""The page at the root of the site."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from . import applications


def landing(request: HttpRequest) -> HttpResponse:
    """What edna is, the sample applications, and with whom to try them. Asks the database nothing."""
    return render(request, "showcase/landing.html", {"applications": applications.ALL})


def application(request: HttpRequest) -> dict[str, applications.Application | None]:
    """For the error pages: the application on whose pages it happened."""
    return {"application": applications.of_path(request.path_info)}
