"""The forms of the pages about stories, comments and messages, in the words of a member; those about keys are in `keyforms`."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from .models import Hat, HatRequest, Message, Story, Tag, User

MAX_TEXT_LENGTH = 64_000
MAX_TAGS = 5
USERNAME = re.compile(r"\A[a-z0-9][a-z0-9_-]{0,24}\Z")

#: Why a story or a comment is voted down; the letters are what the database keeps.
STORY_REASONS = (("O", "Off-topic"), ("A", "Already posted"), ("B", "Broken link"), ("S", "Spam"))
COMMENT_REASONS = (
    ("O", "Off-topic"),
    ("I", "Incorrect"),
    ("M", "Me-too"),
    ("T", "Troll"),
    ("U", "Unkind"),
    ("S", "Spam"),
)


class UsernameField(forms.CharField):
    """User names are lower case, as they are compared with the key's."""

    def __init__(self, **options: Any) -> None:
        attributes = {"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}
        super().__init__(
            **{"label": "User name", "max_length": 50, "widget": forms.TextInput(attrs=attributes), **options}
        )

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).lower()


class NewUsernameField(UsernameField):
    def __init__(self, **options: Any) -> None:
        says = "Begin with a letter or a digit, then up to 24 letters, digits, - and _."
        super().__init__(**{"validators": [RegexValidator(USERNAME, says)], "help_text": says, **options})


class ProseField(forms.CharField):
    """A text, with the line ends of the database instead of those of browsers."""

    def __init__(self, *, rows: int = 5, **options: Any) -> None:
        super().__init__(**{"max_length": MAX_TEXT_LENGTH, "widget": forms.Textarea(attrs={"rows": rows}), **options})

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


class WebAddressField(forms.URLField):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 250, "assume_scheme": "https", **options})
        self.validators = [
            *self.validators,
            RegexValidator(r"\Ahttps?://", "A link begins with http:// or https://.", code="scheme"),
        ]


class TagsField(forms.CharField):
    """Names of tags, separated by spaces or commas; cleans to the tags, with one statement."""

    def clean(self, value: Any) -> Any:
        names = set(super().clean(value).lower().replace(",", " ").split())
        if len(names) > MAX_TAGS:
            raise ValidationError(f"At most {MAX_TAGS} tags.")
        found = list(Tag.objects.filter(tag__in=names, inactive=False))
        if unknown := sorted(names - {tag.tag.lower() for tag in found}):
            raise ValidationError(f"There is no tag {', '.join(unknown)}. The page “Tags” lists them.")
        if found and all(tag.is_media for tag in found):
            raise ValidationError("Say what it is about, too, not only what kind of medium it is.")
        return found


class StoryForm(forms.Form):
    url = WebAddressField(label="Link", required=False)
    title = forms.CharField(label="Title", min_length=3, max_length=150)
    tags = TagsField(label="Tags", max_length=200, help_text="One to five, separated by spaces: programming video")
    description = ProseField(
        label="Text", required=False, help_text="For stories without a link, or to say what the link does not."
    )
    user_is_author = forms.BooleanField(label="I am the author of what the link leads to", required=False)
    field_order = ("url", "title", "tags", "description", "user_is_author")

    def __init__(self, viewer: User, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._viewer = viewer

    def clean_tags(self) -> list[Tag]:
        tags: list[Tag] = self.cleaned_data["tags"]
        if not self._viewer.is_moderator and (reserved := sorted(tag.tag for tag in tags if tag.privileged)):
            raise ValidationError(f"Only moderators use the tag {', '.join(reserved)}.")
        return tags

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not self.errors and not data["url"] and not data["description"]:
            raise ValidationError("A story needs a link or a text.")
        if not self.errors and data["url"]:
            same = Story.objects.filter(url=data["url"], is_expired=False, merged_story=None).values("short_id").first()
            if same:
                self.add_error("url", "This link has been submitted already.")
                self.same = same["short_id"]
        return data

    #: The story that has this link already, for the page to lead there.
    same: str | None = None


class StoryTextForm(forms.ModelForm):
    description = ProseField(label="Text", required=False)

    class Meta:
        model = Story
        fields = ("title", "description")
        labels = {"title": "Title"}


class CommentForm(forms.Form):
    """A comment. The hat is one of the member's own, or none."""

    comment = ProseField(label="Your comment")

    def __init__(self, hats: list[Hat], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if hats:
            choices = [("", "no hat"), *((hat.pk, hat.hat) for hat in hats)]
            self.fields["hat"] = forms.TypedChoiceField(
                label="Put on a hat",
                required=False,
                choices=choices,
                coerce={str(hat.pk): hat for hat in hats}.__getitem__,
                empty_value=None,
            )


class TextForm(forms.Form):
    comment = ProseField(label="Text of the comment")


class ReasonForm(forms.Form):
    reason = ProseField(label="Why? Everybody can read this in the moderation log.", rows=2, max_length=1000)


class MessageForm(forms.ModelForm):
    recipient = UsernameField(
        label="To", widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"})
    )
    body = ProseField(label="Message")
    field_order = ("recipient", "subject", "body")

    class Meta:
        model = Message
        fields = ("subject", "body")
        labels = {"subject": "Subject"}

    def clean_recipient(self) -> User:
        found = User.objects.filter(username=self.cleaned_data["recipient"], deleted_at=None).first()
        if found is None:
            raise ValidationError("Nobody here has this user name.")
        return found


class HatRequestForm(forms.ModelForm):
    link = WebAddressField(label="Link", help_text="A page that shows that it is you.")
    comment = ProseField(label="What should we know?", rows=3, max_length=2000)
    field_order = ("hat", "link", "comment")

    class Meta:
        model = HatRequest
        fields = ("hat", "link", "comment")
        labels = {"hat": "Hat"}
        help_texts = {"hat": "Such as “Maintainer of NetBSD”."}


class FilterForm(forms.Form):
    """Which tags somebody does not want to see."""

    def __init__(self, tags: list[Tag], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["tags"] = forms.MultipleChoiceField(
            label="Hide stories with these tags",
            required=False,
            choices=[(str(tag.pk), tag.tag) for tag in tags],
            widget=forms.CheckboxSelectMultiple,
        )
