"""The address of the page that leads to the applications."""

from django.urls import path

from . import views

app_name = "showcase"

urlpatterns = [path("", views.landing, name="landing")]
