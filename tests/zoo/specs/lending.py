"""Principals and rows with keys that say something."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders
from tests.zoo.models.lending import Call, Card, Copy, Loan, Reader, Review, Shelf, Wish

#: Whoever has the code in their account.
BY_CODE = edna.by_value("reader_code", "code", principal=Reader)


class AnonymousReader(edna.Pseudoprincipal):
    model = Reader
    values = {"email": placeholders.random_email()}


class Quit(Disguise):
    name = "zoo.lending-quit"
    transformations = [
        Remove(Reader),
        Remove(Wish, owner="reader"),
        Remove(Review, owner="reader"),
        Remove(Loan, owner="reader"),
        Remove(Shelf, owner="reader"),
        Remove(Copy, owner="shelf__reader"),
        Remove(Card, owner="reader"),
        Remove(Call, owner=BY_CODE),
    ]


class Return(Disguise):
    """Loans and cards: the owner is in the primary key."""

    name = "zoo.lending-return"
    transformations = [Remove(Loan, owner="reader"), Remove(Card, owner="reader")]


class Mask(Disguise):
    name = "zoo.lending-mask"
    applies_to = "staff"
    transformations = [Decorrelate(Wish, owner="reader"), Decorrelate(Shelf, owner="reader", group_by=edna.ALL)]


class MaskReviews(Disguise):
    """A reference to another column than the key."""

    name = "zoo.lending-mask-reviews"
    applies_to = "staff"
    transformations = [Decorrelate(Review, owner="reader")]


class MaskLoans(Disguise):
    """The owner is a part of the primary key: the row gets another one."""

    name = "zoo.lending-mask-loans"
    applies_to = "staff"
    transformations = [Decorrelate(Loan, owner="reader")]


class Redact(Disguise):
    name = "zoo.lending-redact"
    applies_to = "staff"
    transformations = [
        Modify(Wish, owner="reader", set={"title": "[redacted]"}),
        Modify(Loan, owner="reader", set={"book": placeholders.random_string()}),
        Modify(Card, owner="reader", set={"text": ""}),
        Modify(Copy, owner="shelf__reader", set={"text": "[redacted]"}),
        Modify(Review, owner="reader", set={"text": "[redacted]"}),
        Modify(Call, owner=BY_CODE, set={"text": "[redacted]", "slip__note": "-"}),
    ]


class Uncall(Disguise):
    """Takes out what names the reader: no later disguise finds the row."""

    name = "zoo.lending-uncall"
    applies_to = "staff"
    transformations = [Modify(Call, owner=BY_CODE, set={"reader_code": "", "slip__desk": placeholders.random_string()})]


ALL = (AnonymousReader, Quit, Return, Mask, MaskReviews, MaskLoans, Redact, Uncall)
