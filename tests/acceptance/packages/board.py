"""Three writers in the same topics of a forum below another one, with a poll, edits of each other's posts, subscriptions and profiles."""

from machina.apps.forum.models import Forum
from machina.apps.forum_conversation.forum_polls.models import TopicPoll, TopicPollOption, TopicPollVote
from machina.apps.forum_conversation.models import Post, Topic
from machina.apps.forum_member.models import ForumProfile
from machina.apps.forum_permission.models import ForumPermission, UserForumPermission
from machina.apps.forum_tracking.models import ForumReadTrack, TopicReadTrack
from stories import prepared, registered, told

prepared()
people, keys = registered("beatrix", "carlotta", "dorothea")
top = Forum.objects.create(name="Garden", type=Forum.FORUM_CAT)
board = Forum.objects.create(name="Beds", type=Forum.FORUM_POST, parent=top)
may, _ = ForumPermission.objects.get_or_create(codename="can_try")
topics = [
    Topic.objects.create(forum=board, poster=person, subject=f"Topic {n}", type=Topic.TOPIC_POST, status=0)
    for n, person in enumerate(people)
]
for topic in topics:
    for n, person in enumerate(people):
        editor = people[(n + 1) % 3]
        Post.objects.create(
            topic=topic,
            poster=person,
            subject="Re",
            content=f"Answer {n}",
            username=person.username,
            updated_by=editor,
            update_reason=f"{editor.username} mended it",
        )
    topic.subscribers.set(people)
    poll = TopicPoll.objects.create(topic=topic, question="Which?", max_options=1)
    option = TopicPollOption.objects.create(poll=poll, text="This")
    for person in people:
        TopicPollVote.objects.create(poll_option=option, voter=person)
        TopicReadTrack.objects.create(user=person, topic=topic)
for person in people:
    ForumReadTrack.objects.create(user=person, forum=board)
    UserForumPermission.objects.create(user=person, forum=board, permission=may)
    ForumProfile.objects.update_or_create(user=person, defaults={"signature": f"yours, {person.username}"})
SAID = told("privacy.leave-board", people, keys)
