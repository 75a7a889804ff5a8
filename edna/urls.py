"""``path("privacy/", include("edna.urls"))``: the pages for people (`edna.pages`), the metrics, and ``api/1/`` for scripts."""

from django.urls import include, path

from edna import views

app_name = "edna"
urlpatterns = [
    path("metrics", views.metrics, name="metrics"),
    path("api/1/", include("edna.api_http.urls")),
    path("", include("edna.pages.urls")),
]
