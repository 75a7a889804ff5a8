"""The addresses of the pages, in the shapes of the original. None of them carries a secret, nor ties a person to what is disguised."""

from django.urls import URLPattern, path, register_converter

from .views import account, buttons, comments, disguises, messages, mine, moderation, people, stories

app_name = "lobsters"


class TagConverter:
    """Names of tags, such as ``c++``; nothing that a database could not look for."""

    regex = r"[\w.+#-]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(TagConverter, "tag")


def _paged(route: str, view: object, name: str) -> list[URLPattern]:
    """A list, and its further pages."""
    further = f"{route}/page/<int:page>" if route else "page/<int:page>"
    return [path(route, view, name=name), path(further, view, name=f"{name}-page")]


urlpatterns = [
    *_paged("", stories.front, "front"),
    *_paged("recent", stories.recent, "recent"),
    path("stories", stories.submit, name="stories"),
    path("stories/new", stories.submit, name="submit"),
    path("stories/<slug:short_id>", stories.story, name="story"),
    path("stories/<slug:short_id>/edit", stories.edit, name="edit-story"),
    path("stories/<slug:short_id>/delete", stories.delete, name="delete-story"),
    path("stories/<slug:short_id>/flag", buttons.flag, name="flag-story"),
    path("stories/<slug:short_id>/save", buttons.save, name="save"),
    path("stories/<slug:short_id>/unsave", buttons.unsave, name="unsave"),
    path("stories/<slug:short_id>/hide", buttons.hide, name="hide"),
    path("stories/<slug:short_id>/unhide", buttons.unhide, name="unhide"),
    path("stories/<slug:short_id>/moderate", moderation.moderate_story, name="moderate-story"),
    *(
        path(f"stories/<slug:short_id>/{vote}", buttons.story_vote, {"vote": vote}, name=f"{vote}-story")
        for vote in buttons.VOTES
    ),
    *_paged("comments", comments.comments, "comments"),
    path("comments/<slug:short_id>", comments.comment, name="comment"),
    path("comments/<slug:short_id>/edit", comments.edit, name="edit-comment"),
    path("comments/<slug:short_id>/delete", comments.delete, name="delete-comment"),
    path("comments/<slug:short_id>/moderate", moderation.moderate_comment, name="moderate-comment"),
    *(
        path(f"comments/<slug:short_id>/{vote}", buttons.comment_vote, {"vote": vote}, name=f"{vote}-comment")
        for vote in buttons.VOTES
    ),
    path("u/<slug:username>", people.profile, name="profile"),
    *_paged("u/<slug:username>/stories", people.stories, "profile-stories"),
    *_paged("u/<slug:username>/comments", people.comments, "profile-comments"),
    *_paged("messages", messages.inbox, "messages"),
    *_paged("messages/sent", messages.sent, "sent"),
    path("messages/new", messages.write, name="write-message"),
    path("messages/<slug:short_id>", messages.read, name="message"),
    path("messages/<slug:short_id>/delete", messages.delete, name="delete-message"),
    *_paged("saved", mine.saved, "saved"),
    *_paged("hidden", mine.hidden, "hidden"),
    path("tags", mine.tags, name="tags"),
    path("filters", mine.filters, name="filters"),
    *_paged("t/<tag:tag>", stories.tagged, "tag"),
    *_paged("hats", moderation.hats, "hats"),
    path("hats/new", moderation.request_hat, name="request-hat"),
    path("hats/<int:pk>/doff", moderation.doff, name="doff-hat"),
    *(
        path(f"hats/requests/<int:pk>/{answer}", moderation.answer_request, {"answer": answer}, name=f"{answer}-hat")
        for answer in ("grant", "refuse")
    ),
    *_paged("moderations", moderation.log, "moderations"),
    path("register", account.Register.as_view(), name="register"),
    path("login", account.LogIn.as_view(), name="login"),
    path("logout", account.log_out, name="logout"),
    path("account", account.account, name="account"),
    path("account/password", account.ChangePassword.as_view(), name="change-password"),
    path("account/topic", disguises.ChooseTopic.as_view(), name="choose-topic"),
    path("account/topic/leave", disguises.LeaveTopic.as_view(), name="leave-topic"),
    path("finish", disguises.Finish.as_view(), name="finish"),
    path("disguised", disguises.Disguised.as_view(), name="disguised"),
    path("disguised/edit", disguises.Edit.as_view(), name="edit-disguised"),
]
