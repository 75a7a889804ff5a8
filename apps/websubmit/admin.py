"""The stock admin site, for staff."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from apps.showcase.accounts_admin import AccountAdmin, NoHistory

from .models import Answer, Lecture, Question, User


@admin.register(User)
class UserAdmin(AccountAdmin):
    """Accounts. The e-mail address is fixed: a student's password opens their key only together with it."""

    fields = ("email", "is_admin", "is_active")
    readonly_fields = ("email",)
    list_display = ("email", "is_admin", "is_active", "joined_on")
    list_filter = ("is_admin", "is_anon")
    search_fields = ("email",)


class QuestionInline(admin.TabularInline):
    model = Question
    extra = 1


@admin.register(Lecture)
class LectureAdmin(admin.ModelAdmin):
    inlines = (QuestionInline,)


@admin.register(Answer)
class AnswerAdmin(NoHistory):
    list_display = ("question", "author_name", "submitted_at")
    list_select_related = ("question__lecture", "author")
    raw_id_fields = ("author", "question")

    @admin.display(description="author")
    def author_name(self, answer: Answer) -> str:
        return "anonymous" if answer.author.is_anon else answer.author.email


def _change_password_on_our_page(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
    return redirect("websubmit:change-password")


# The admin site's own page would change the password for logging in, but not for opening the key.
admin.site.password_change = _change_password_on_our_page
