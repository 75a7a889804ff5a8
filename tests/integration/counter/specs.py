"""What the counter's disguises say about whose a row is."""

from __future__ import annotations

import edna
from edna import Disguise, Keep, Modify, Remove, placeholders

from .models import Address, Answer, Board, Customer, Entry, EntryNote, Remark, Ticket, Visit

BY_EMAIL = edna.by_value("submitter_email", "email", principal=Customer)


class Nobody(edna.Pseudoprincipal):
    model = Customer
    values = {"email": placeholders.random_email()}


class Leave(Disguise):
    """Everything that names the customer goes with them."""

    name = "counter.leave"
    transformations = [
        Remove(Customer),
        Remove(Address, owner="customer"),
        Remove(Board, owner="owner"),
        Remove(Ticket, owner=BY_EMAIL),
        Keep(Ticket, "submitter_email", why="where the person was to answer, it is somebody else's"),
        Keep(Ticket, "nickname"),
        Remove(Answer, owner=edna.by_value("ticket__submitter_email", "email", principal=Customer)),
        Remove(Visit, owner=edna.by_value("customer_number", "pk", principal=Customer)),
        Remove(Entry, owner=edna.about(Customer)),
        Remove(EntryNote, owner=edna.about(Customer, by=("entry__content_type", "entry__object_id"))),
        Remove(Remark, owner=edna.about(Customer, by="subject")),
        Remove(Remark, owner=edna.about(Customer, by="context")),
        *(Keep(Remark, name, why="only about customers") for name in ("subject", "context")),
    ]


class Hush(Disguise):
    """The tickets stay, and name nobody; so does the customer."""

    name = "counter.hush"
    transformations = [
        Modify(Customer, set={"email": placeholders.random_email(), "nickname": ""}),
        Modify(Ticket, owner=BY_EMAIL, set={"submitter_email": "", "text": "[gone]"}),
        Modify(Entry, owner=edna.about(Customer), set={"text": ""}),
    ]


ALL = (Nobody, Leave, Hush)
