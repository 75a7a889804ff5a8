"""The routes of the first version."""

from django.urls import path

from edna.api_http import graph, keys, registrations, rotations, slots

urlpatterns = [
    path("graph/bags", graph.bags, name="graph-bags"),
    path("graph/disguise", graph.disguise, name="graph-disguise"),
    path("graph/entries", graph.entries, name="graph-entries"),
    path("graph/erase", graph.erase, name="graph-erase"),
    path("graph/export", graph.export, name="graph-export"),
    path("graph/plan-erasure", graph.plan_erasure, name="graph-plan-erasure"),
    path("graph/references", graph.references, name="graph-references"),
    path("graph/reveal", graph.reveal, name="graph-reveal"),
    path("keys/challenge", keys.challenge, name="keys-challenge"),
    path("keys/challenges", keys.challenges, name="keys-challenges"),
    path("keys/rotate", rotations.rotate, name="keys-rotate"),
    path("keys/rotate-part", rotations.rotate_part, name="keys-rotate-part"),
    path("keys/session", keys.session, name="keys-session"),
    path("keys/register", registrations.register, name="keys-register"),
    path("slots/salt", slots.salt, name="slots-salt"),
    path("slots/open", slots.open_slots, name="slots-open"),
    path("slots/replace", slots.replace, name="slots-replace"),
]
