"""Three speakers of the same talks, who review and discuss each other's: mails to several of them, a log, answers, availabilities."""

from django.utils.timezone import now, timedelta
from django_scopes import scopes_disabled
from pretalx.event.models import Event, TeamInvite
from pretalx.event.utils import create_organiser_with_team
from pretalx.mail.models import QueuedMail
from pretalx.person.models import SpeakerProfile, User
from pretalx.schedule.models import Availability
from pretalx.submission.models import Answer, Feedback, Question, Review, Submission, SubmissionComment
from stories import prepared, told

import edna

prepared()
with scopes_disabled():
    names = ("beatrix", "carlotta", "dorothea")
    people = [User.objects.create_user(email=f"{name}@example.org", name=name, password="x") for name in names]
    keys = [edna.register_principal(person).secret_key for person in people]
    organiser, team = create_organiser_with_team(name="Garden", slug="garden", users=people)
    today = now().date()
    event = Event.objects.create(
        name="Beds", slug="beds", organiser=organiser, date_from=today, date_to=today, email="beds@example.org"
    )
    event.build_initial_data()
    diet = Question.objects.create(event=event, question="Diet", variant="string", target="speaker")
    for number, person in enumerate(people):
        profile = SpeakerProfile.objects.create(user=person, event=event, biography=f"{person.name} digs.")
        profile.log_action(".update", person=person, new_data={"biography": profile.biography})
        Availability.objects.create(event=event, person=profile, start=now(), end=now() + timedelta(hours=1))
        Answer.objects.create(question=diet, person=person, answer=f"{person.name} eats no nuts")
        TeamInvite.objects.create(team=team, email=person.email)
        person.log_action("pretalx.user.email.update", data={"old_email": person.email, "new_email": "?"})
        talk = Submission.objects.create(
            event=event,
            title=f"Talk {number}",
            submission_type=event.cfp.default_type,
            notes=f"Call {people[number - 1].name}, or {person.name}.",
        )
        talk.speakers.set([person, people[number - 1]])
        talk.log_action("pretalx.submission.create", person=person)
        talk.log_action("pretalx.submission.speakers.add", data={"name": person.name, "email": person.email})
        talk.assigned_reviewers.set(people)
        Feedback.objects.create(talk=talk, speaker=person, review=f"Well done, {person.name}")
        mail = QueuedMail.objects.create(
            event=event, subject="Talk", text=f"Dear {talk.speakers.all()[0].name}, dear {talk.speakers.all()[1].name}"
        )
        mail.to_users.set(talk.speakers.all())
        mail.log_action("pretalx.mail.sent", data={"to_users": [(each.pk, each.email) for each in talk.speakers.all()]})
        QueuedMail.objects.create(event=event, subject="Press", text="!", to=f"{person.email},press@example.org")
        for other in people:
            Review.objects.create(submission=talk, user=other, text="Yes.")
            SubmissionComment.objects.create(submission=talk, user=other, text="And why?")
            talk.add_favourite(other)
    SAID = told("privacy.leave-conference", people, keys)
