"""Three authors who write, lock, revise and discuss each other's entries."""

from puput.models import BlogPage, EntryPage
from stories import prepared, registered, told
from wagtail.models import Comment, CommentReply, Page, PageSubscription
from wagtail.users.models import UserProfile

prepared()
people, keys = registered("beatrix", "carlotta", "dorothea")
blog = Page.objects.get(depth=1).add_child(instance=BlogPage(title="Magazine", slug="magazine"))
for person in people:
    UserProfile.objects.create(user=person)
    entry = blog.add_child(instance=EntryPage(title="Knots", slug=f"knots-{person.pk}", body="<p>x</p>", owner=person))
    entry.locked, entry.locked_by = True, person
    for one in people:
        entry.save_revision(user=one, log_action=True)
        comment = Comment.objects.create(page=entry, user=one, text="Too long?", contentpath="body")
        for other in people:
            CommentReply.objects.create(comment=comment, user=other, text="No.")
        PageSubscription.objects.create(page=entry, user=one, comment_notifications=True)
    entry.get_latest_revision().publish()
SAID = told("privacy.leave-magazine", people, keys)
