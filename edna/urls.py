"""``path("edna/", include("edna.urls"))``: the metrics, at ``edna/metrics``."""

from django.urls import path

from edna import views

app_name = "edna"
urlpatterns = [path("metrics", views.metrics, name="metrics")]
