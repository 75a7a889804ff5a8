"""Every operation over every type of column."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders

from .models import Holder, Piece


class Mask(edna.Pseudoprincipal):
    model = Holder
    values = {"name": placeholders.random_string()}


class Go(Disguise):
    name = "moving.go"
    transformations = [Remove(Piece, owner="owner"), Remove(Holder)]
    pseudoprincipal = Mask


class Veil(Disguise):
    name = "moving.veil"
    transformations = [Decorrelate(Piece, owner="owner")]
    pseudoprincipal = Mask


class Blank(Disguise):
    name = "moving.blank"
    transformations = [
        Modify(
            Piece,
            owner="owner",
            set={
                "text": "[gone]",
                "flag": False,
                "maybe": None,
                "real": 0.5,
                "decimal": placeholders.constant(Decimal("1.5")),
                "whole": 7,
                "date": placeholders.truncated_date(to="year"),
                "moment": placeholders.truncated_date(to="month"),
                "uid": placeholders.constant(uuid.UUID(int=7)),
                "json": placeholders.constant({"z": [1, None], "aa": {"b": True}}),
                "binary": b"",
                "span": placeholders.constant(datetime.timedelta(seconds=1)),
            },
        )
    ]
    pseudoprincipal = Mask


ALL = (Mask, Go, Veil, Blank)
