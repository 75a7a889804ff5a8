"""What the desk's disguises say about whose a row is. Registered for the tests that ask for it."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Remove, placeholders

from .models import Draft, Essay, Letter, Page, Stamp, Writer


class Ghost(edna.Pseudoprincipal):
    model = Writer
    values = {"pen_name": placeholders.random_string()}


class Unsign(Disguise):
    """Letters have two owners; the censor is none."""

    name = "desk.unsign"
    transformations = [Decorrelate(Letter, owner=["author", "recipient"])]


class Tear(Disguise):
    name = "desk.tear"
    transformations = [Remove(Stamp, owner="letter__author")]


class Publish(Disguise):
    """Owners by pen name, within the key, and in a parent's table."""

    name = "desk.publish"
    transformations = [
        Decorrelate(Draft, owner="writer"),
        Decorrelate(Page, owner="writer"),
        Decorrelate(Essay, owner="owner"),
    ]


ALL = (Ghost, Unsign, Tear, Publish)
