"""``path("privacy/", include("edna.urls"))``: the pages for people (`edna.pages`), and the metrics, at ``privacy/metrics``."""

from django.urls import include, path

from edna import views

app_name = "edna"
urlpatterns = [
    path("metrics", views.metrics, name="metrics"),
    path("", include("edna.pages.urls")),
]
