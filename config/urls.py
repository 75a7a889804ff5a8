"""URLs of the sample site."""

from django.contrib import admin
from django.urls import include, path

from apps.lobsters_sim.privacy import PAGES as LOBSTERS
from apps.websubmit.privacy import PAGES as WEBSUBMIT

urlpatterns = [
    path("", include("apps.showcase.urls")),
    path("admin/", admin.site.urls),
    path("edna/", include("edna.urls")),
    path("lobsters/privacy/", LOBSTERS.urls),
    path("lobsters/", include("apps.lobsters_sim.urls")),
    path("hotcrp/", include("apps.hotcrp_sim.urls")),
    path("websubmit/privacy/", WEBSUBMIT.urls),
    path("websubmit/", include("apps.websubmit.urls")),
]
