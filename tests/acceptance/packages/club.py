"""Three members who write to each other, invite each other and have written pages."""

from pathlib import Path

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from cms.api import create_page
from cms.models import UserSettings
from django.utils import timezone
from organizations.models import Organization, OrganizationInvitation, OrganizationUser
from postman.models import Message
from stories import prepared, registered, told

Path("templates").mkdir()
placeholders = (
    '{% load cms_tags sekizai_tags %}{% render_block "css" %}{% placeholder "content" %}{% render_block "js" %}'
)
Path("templates/page.html").write_text(placeholders)
prepared()
people, keys = registered("beatrix", "carlotta", "dorothea")
club = Organization.objects.create(name="Club", slug="club")
later = timezone.now() + timezone.timedelta(days=9)
for number, person in enumerate(people):
    UserSettings.objects.create(user=person, language="en")
    create_page(f"Page {number}", "page.html", "en", created_by=person)
    club.get_or_add_user(person)
    EmailAddress.objects.create(user=person, email=person.email, verified=True)
    SocialAccount.objects.create(user=person, provider="dummy", uid=person.username)
    Authenticator.objects.create(user=person, type="totp", data={"secret": person.username})
    for other in people:  # each writes to each
        if other != person:
            thread = Message.objects.create(sender=person, recipient=other, subject="Knots", body=person.username)
            Message.objects.create(sender=other, recipient=person, subject="Re", body="x", parent=thread, thread=thread)
            OrganizationInvitation.objects.create(
                invited_by=person,
                invitee=other,
                invitee_identifier=other.email,
                organization=club,
            )
OrganizationUser.objects.update(is_admin=False)  # who is one does not come back as one
SAID = told("privacy.leave-club", people, keys)
