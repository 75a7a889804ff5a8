"""What a citizen can disguise."""

from __future__ import annotations

import edna
from edna import Decorrelate, Disguise, Modify, Remove, placeholders

from .models import Citizen, Letter


class Mask(edna.Pseudoprincipal):
    model = Citizen
    values = {"name": placeholders.random_string()}


class Leave(Disguise):
    name = "post.leave"
    transformations = [Remove(Letter, owner=["sender", "recipient"]), Remove(Citizen)]
    pseudoprincipal = Mask


class Veil(Disguise):
    name = "post.veil"
    transformations = [Decorrelate(Letter, owner=["sender", "recipient"])]
    pseudoprincipal = Mask


class Blur(Disguise):
    name = "post.blur"
    transformations = [Modify(Letter, owner="sender", set={"text": placeholders.constant("[blurred]")})]
    pseudoprincipal = Mask


ALL = (Leave, Veil, Blur)
