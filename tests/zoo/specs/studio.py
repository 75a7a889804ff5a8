"""UUIDs, tables that inherit from each other, files, a table that is not managed."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.zoo.models.studio import Artist, LegacyNote, Painting, Showing, Sketch, Song, Work


class AnonymousArtist(edna.Pseudoprincipal):
    model = Artist
    values = {"handle": placeholders.random_string()}


class Close(Disguise):
    """Everything of an artist: parents and children."""

    name = "zoo.studio-close"
    transformations = [
        Remove(Artist),
        Remove(Work, owner="artist"),
        Remove(Painting, owner="artist"),
        Remove(Song, owner="artist"),
        Remove(Showing, owner="work__artist"),
        Remove(Sketch, owner="artist"),
        Remove(LegacyNote, owner="artist"),
    ]


class Sell(Disguise):
    """The children, and with them their parents' rows; other works stay."""

    name = "zoo.studio-sell"
    transformations = [Remove(Song, owner="artist"), Remove(Showing, owner="work__song__artist")]


class Anonymise(Disguise):
    """The owner is in the parent's table."""

    name = "zoo.studio-anonymise"
    applies_to = "staff"
    transformations = [
        Decorrelate(Work, owner="artist"),
        Decorrelate(Sketch, owner="artist", group_by=edna.ALL),
        Decorrelate(LegacyNote, owner="artist"),
    ]


class Leave(Disguise):
    """The account goes, and the works stay."""

    name = "zoo.studio-leave"
    transformations = [
        Remove(Artist),
        Decorrelate(Work, owner="artist", group_by=edna.ALL),
        Remove(Sketch, owner="artist"),
        Remove(LegacyNote, owner="artist"),
    ]


class Redact(Disguise):
    """Columns of the child, and columns of the parent."""

    name = "zoo.studio-redact"
    applies_to = "staff"
    transformations = [
        Modify(Artist, set={"settings": {"redacted": [True, None]}}),
        Modify(Work, owner="artist", set={"title": "[redacted]"}),
        Modify(Painting, owner="artist", set={"medium": "[redacted]"}),
        Modify(Showing, owner="work__artist", set={"text": "[redacted]"}),
        Modify(LegacyNote, owner="artist", set={"text": "[redacted]"}),
    ]


class BurnFiles(Disguise):
    name = "zoo.studio-burn-files"
    transformations = [Remove(Sketch, owner="artist")]


ALL = (AnonymousArtist, Close, Sell, Anonymise, Leave, Redact, BurnFiles)
