"""URLs of the sample site."""

from django.contrib import admin
from django.urls import include, path

from apps.hotcrp_sim.privacy import PAGES as HOTCRP
from apps.lobsters_sim.privacy import PAGES as LOBSTERS
from apps.websubmit.privacy import PAGES as WEBSUBMIT
from edna.views import metrics

urlpatterns = [
    path("", include("apps.showcase.urls")),
    path("admin/", admin.site.urls),
    path("edna/metrics", metrics),  # the pages are those of each application: one may be more careful than others
    path("lobsters/privacy/", LOBSTERS.urls),
    path("lobsters/", include("apps.lobsters_sim.urls")),
    path("hotcrp/privacy/", HOTCRP.urls),
    path("hotcrp/", include("apps.hotcrp_sim.urls")),
    path("websubmit/privacy/", WEBSUBMIT.urls),
    path("websubmit/", include("apps.websubmit.urls")),
]
