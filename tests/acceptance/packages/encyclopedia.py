"""Three writers of the same articles of a wiki, with images that they change for each other, attachments, subscriptions and notices."""

from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.files.base import ContentFile
from django.urls import include, path
from django_nyt.models import Notification, Settings
from django_nyt.utils import subscribe
from stories import prepared, registered, told
from wiki.models import Article, ArticleRevision, URLPath
from wiki.plugins.attachments.models import Attachment, AttachmentRevision
from wiki.plugins.images.models import Image, ImageRevision
from wiki.plugins.notifications.models import ArticleSubscription


def by(person: User) -> dict[str, object]:
    return {"user": person, "ip_address": f"10.0.0.{person.pk}", "user_message": f"{person.username} wrote"}


urlpatterns = [path("notices/", include("django_nyt.urls")), path("", include("wiki.urls"))]
prepared()
people, keys = registered("beatrix", "carlotta", "dorothea")
root = URLPath.create_root(title="Garden", content="All beds")
for n, person in enumerate(people):
    other = people[(n + 1) % 3]
    below = URLPath.objects.exclude(parent=None).last() or root
    bed = URLPath.create_urlpath(below, f"bed-{n}", title=f"Bed {n}", content="Roses", **by(person))
    Article.objects.filter(pk=bed.article_id).update(owner=other)
    article = Article.objects.get(pk=bed.article_id)
    for editor in (*people, person):
        article.add_revision(ArticleRevision(title=f"Bed {n}", content="More", **by(editor)))
    for last in (person, other):
        image = Image(article=article)
        for shown, editor in enumerate((person, other, last)):
            file = ContentFile(f"picture {n} {shown}".encode(), name=f"{shown}.png")
            image.add_revision(ImageRevision(image=file, user=editor, ip_address="10.0.0.9"))
    plan = Attachment.objects.create(article=article, original_filename="plan.txt")
    for editor in (person, other):
        file = ContentFile(b"plan", name="plan.txt")
        made = AttachmentRevision.objects.create(attachment=plan, file=file, **by(editor), description="mine")
        Attachment.objects.filter(pk=plan.pk).update(current_revision=made)
    kind = ContentType.objects.get_for_model(Article)
    for reader in people:
        chosen = Settings.get_default_settings(reader)
        subscription = subscribe(chosen, "article_edit", content_type=kind, object_id=article.pk)
        ArticleSubscription.objects.create(subscription=subscription, article=article)
        subscription.latest = Notification.objects.create(subscription=subscription, message="Article modified")
        subscription.save()
SAID = told("privacy.leave-wiki", people, keys)
