"""What becomes of a member's data when they leave, when they have been away for long, and when they disown a topic.

Whatever is disguised, the page of everybody else stays the same: scores and counts are columns of the stories and comments, and
neither those nor the order of a page depends on who wrote or voted. Django finds this module by itself, as it finds
``admin.py``.
"""

import datetime

from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import Q

import edna
from edna import Decorrelate, Disguise, Keep, Modify, Param, Remove, placeholders

from .mails import decay_letter
from .models import (
    Comment,
    Hat,
    HatRequest,
    HiddenStory,
    Invitation,
    InvitationRequest,
    Message,
    Moderation,
    ModNote,
    ReadRibbon,
    SavedStory,
    Story,
    SuggestedTagging,
    SuggestedTitle,
    TagFilter,
    User,
    Vote,
)

DELETED = "[deleted content]"


@edna.register
class InactiveUser(edna.Pseudoprincipal):
    """Whom stories, comments and votes belong to whose owner is disguised: an account that was never anybody's."""

    model = User
    values = {
        "username": placeholders.random_string(),
        "email": placeholders.random_email(),
        "password": placeholders.unusable_password(),
        # What makes an account inactive: pages name nobody, and nobody can log in. The moment says nothing.
        "deleted_at": datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC),
    }


#: What only its owner has any use for.
PERSONAL = [
    Remove(Hat, owner="user"),
    # A hat stays good when the moderator who granted it leaves.
    Decorrelate(Hat, owner="granted_by_user"),
    Remove(HatRequest, owner="user"),
    Remove(HiddenStory, owner="user"),
    Remove(Invitation, owner="user"),
    Remove(ReadRibbon, owner="user"),
    Remove(SavedStory, owner="user"),
    Remove(SuggestedTagging, owner="user"),
    Remove(SuggestedTitle, owner="user"),
    Remove(TagFilter, owner="user"),
    # Moderators may have changed meanwhile: who returns is a member like any other.
    Remove(User, returning={"is_moderator": False}),
]

#: What others have read, answered and counted. Every row gets an owner of its own, so that no two of them show that they
#: were one person's.
PUBLIC = [
    Decorrelate(Comment, owner="user"),
    Decorrelate(Story, owner="user"),
    Decorrelate(Vote, owner="user"),
    Decorrelate(Moderation, owner=["moderator_user", "user"]),
    Decorrelate(ModNote, owner=["moderator_user", "user"]),
]

#: What looks personal and stays: `manage.py edna_audit` reports it with these words.
MAY_STAY = [
    *(Keep(Moderation, name, why="the log of what moderators did is public") for name in ("action", "reason")),
    *(Keep(ModNote, name, why="moderators go on needing what they noted") for name in ("action", "reason")),
    *(
        Keep(InvitationRequest, name, why="of people without an account; deleted once it is answered")
        for name in ("email", "name", "memo", "ip_address")
    ),
]


@edna.register
class DeleteAccount(Disguise):
    """Your account, your lists and your messages leave the site. Your stories and comments lose their text and your name; what others have
    answered stays, and so do the scores. You can come back."""

    name = "lobsters.delete-account"
    title = "Delete your account"
    self_service = True
    # What was anonymised before goes, too, and is found by the key alone.
    asks_for_key = True
    transformations = [
        Modify(Comment, owner="user", set={"comment": DELETED, "markeddown_comment": DELETED}),
        Modify(
            Story,
            owner="user",
            set={
                "title": DELETED,
                "url": DELETED,
                "description": DELETED,
                "markeddown_description": DELETED,
                "story_cache": DELETED,
                "twitter_id": placeholders.null(),
            },
        ),
        # A message is the other one's, too: it goes when both have left, and until then its flag says who has.
        Modify(Message, owner="author_user", set={"deleted_by_author": True}),
        Modify(Message, owner="recipient_user", set={"deleted_by_recipient": True}),
        Remove(Message, owner=["author_user", "recipient_user"]),
        *PUBLIC,
        *PERSONAL,
        *MAY_STAY,
    ]


@edna.register
class Decay(Disguise):
    """Take a dormant account away: what it wrote stays, under nobody's name. The member may return, or finish the deletion."""

    name = "lobsters.decay"
    # A site with policies (docs/policies.md) can say which of its processes bring such accounts back.
    policy = getattr(settings, "LOBSTERS_DECAY_POLICY", None)
    title = "You had not been here for long, and your account was put away"
    transformations = [
        *PUBLIC,
        Decorrelate(Message, owner=["author_user", "recipient_user"]),
        *PERSONAL,
    ]
    applies_to = "staff"


@edna.schedule(
    Decay,
    inactive_for=datetime.timedelta(days=365),
    notify_before=(datetime.timedelta(days=30), datetime.timedelta(days=7)),
    # Who joined and never logged in again was last here on that day.
    last_active=("last_login", "created_at"),
)
def decay_dormant(notice: edna.Notice) -> EmailMessage:
    """Put away accounts that nobody has used for a year, after two mails; a third one has the receipt."""
    return decay_letter(notice)


@edna.register
class LeaveTopic(Disguise):
    """What you wrote there stays, under nobody's name; your votes there are no longer yours, and still count. With your key you can edit
    what you wrote, and put your name back."""

    name = "lobsters.topic"
    params = {"tag": str}
    transformations = [
        Decorrelate(Story, owner="user", where=Q(taggings__tag__tag=Param("tag")), group_by=["id"]),
        Decorrelate(Comment, owner="user", where=Q(story__taggings__tag__tag=Param("tag")), group_by=["story"]),
        # Votes for comments name the story, too.
        Remove(Vote, owner="user", where=Q(story__taggings__tag__tag=Param("tag"))),
    ]
