"""Three members who share jobs, an area and who spoke as whom."""

from django.utils import timezone
from impersonate.models import ImpersonationLog
from juntagrico.entity.jobs import ActivityArea, Assignment, JobType, RecuringJob
from juntagrico.entity.location import Location
from juntagrico.entity.member import Member
from juntagrico.entity.share import Share
from stories import prepared, registered, told

prepared()
people, keys = registered("beatrix", "carlotta", "dorothea")
members = [
    Member.objects.create(
        user=person,
        first_name=person.username,
        last_name=person.username,
        email=person.email,
        addr_street="Lane 3",
        addr_zipcode="1",
        addr_location="Town",
        phone="1",
    )
    for person in people
]
area = ActivityArea.objects.create(name="Beds")
field = Location.objects.create(name="Field")
weeding = JobType.objects.create(name="Weeding", activityarea=area, default_duration=2, location=field)
job = RecuringJob.objects.create(type=weeding, slots=3, time=timezone.now())
for member in members:
    Assignment.objects.create(member=member, job=job, amount=1)
    Share.objects.create(member=member, value=250, number=member.pk)
    area.members.add(member)
for one in people:
    for other in people:
        ImpersonationLog.objects.create(
            impersonator=one, impersonating=other, session_key="1", session_started_at=timezone.now()
        )
SAID = told("privacy.leave-garden", people, keys)
