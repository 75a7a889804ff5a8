"""A project with an admin site of its own, beside or instead of Django's."""

from django.contrib.admin import AdminSite
from django.urls import path

from apps.lobsters_sim.models import User as Member
from apps.showcase.accounts_admin import AccountAdmin
from apps.websubmit.models import User
from edna.operations.admin import install


class NoActions(AccountAdmin):
    actions = None


desk = AdminSite(name="desk")
desk.register(User, AccountAdmin)
desk.register(Member, NoActions)
install(desk)

urlpatterns = [path("desk/", desk.urls)]
