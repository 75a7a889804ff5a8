"""What writers can disguise."""

from __future__ import annotations

from edna import Disguise, Modify, Remove, placeholders

from .models import Folder, Mention, Paper, Pen, Writer

DELETED = "[deleted]"


class Name(Disguise):
    name = "papers.name"
    transformations = [Modify(Paper, owner="author", set={"meta__author__name": DELETED})]


class NameAgain(Disguise):
    name = "papers.name-again"
    transformations = [Modify(Paper, owner="author", set={"meta__author__name": placeholders.random_string()})]


class Mail(Disguise):
    name = "papers.mail"
    transformations = [
        Modify(Paper, owner="author", set={"meta__author__email": placeholders.random_email(), "meta__tags__0": None}),
    ]


class Each(Disguise):
    """Every element of two lists, and what stands under a key in each of one."""

    name = "papers.each"
    transformations = [
        Modify(Paper, owner="author", set={"meta__tags__*": placeholders.derived(repr), "meta__by__*__name": DELETED}),
    ]


class EachAuthor(Disguise):
    """What is around the names."""

    name = "papers.each-author"
    transformations = [Modify(Paper, owner="author", set={"meta__by__*": {"name": "nobody"}})]


class Initials(Disguise):
    name = "papers.initials"
    transformations = [
        Modify(Paper, owner="author", set={"meta__author__name": placeholders.derived(lambda name: f"{name[:1]}.")}),
    ]


class Author(Disguise):
    """What is around the name."""

    name = "papers.author"
    transformations = [Modify(Paper, owner="author", set={"meta__author": {"name": "nobody"}})]


class Whole(Disguise):
    name = "papers.whole"
    transformations = [Modify(Paper, owner="author", set={"meta": {"author": {"name": "nobody"}}})]


class Leave(Disguise):
    name = "papers.leave"
    transformations = [
        Remove(Writer),
        Remove(Pen, owner="writer"),
        Remove(Paper, owner="author"),
        Remove(Mention, owner="writer"),
    ]


class LastWriter(Disguise):
    """The name that rows of others have of the last writer, by itself and within a text; and the name itself, before."""

    name = "papers.last-writer"
    transformations = [
        Modify(Writer, set={"name": placeholders.random_name()}),
        Modify(
            Folder,
            owner="last_paper__author",
            set={
                "last_writer_name": DELETED,
                "summary": placeholders.derived(
                    lambda text, person: text.replace(person["name"], DELETED), person=["name"]
                ),
            },
        ),
        Modify(
            Paper,
            owner="author",
            set={"meta__by": placeholders.derived(lambda by, person: by.replace(person["name"], "?"), person=["name"])},
        ),
    ]


ALL = (Name, NameAgain, Mail, Each, EachAuthor, Initials, Author, Whole, Leave, LastWriter)
