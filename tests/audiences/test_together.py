"""What several members open together opens for nobody alone, once more for nobody who has taken part, and for who comes later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.audiences import together
from edna.custody.audiences.together import Deal, Sharing
from edna.custody.guardians.group import Scalar
from edna.errors import ConfigurationError, NotInAudience, ShareRefused, TooFewTogether, WrongKey

Keys = dict[bytes, SecretKey]


def people(*names: str) -> Keys:
    return {name.encode(): SecretKey.generate() for name in names}


def public(keys: Keys) -> dict[bytes, PublicKey]:
    return {member: key.public_key for member, key in keys.items()}


def share_of(sharing: Sharing, deals: Sequence[Deal], keys: Keys, member: bytes) -> Scalar:
    return together.open_share(sharing, deals, member=member, secret_key=keys[member])


def parts(sealed: bytes, sharing: Sharing, deals: Sequence[Deal], keys: Keys, *members: bytes) -> list[bytes]:
    return [
        together.part_of(sealed, share_of(sharing, deals, keys, each), sharing=sharing, member=each) for each in members
    ]


def opened(sealed: bytes, given: Sequence[bytes], sharing: Sharing, context: bytes = b"case") -> bytes:
    return together.open_together(sealed, given, sharing=sharing, context=context)


def test_two_of_three_open_it_and_one_does_not() -> None:
    keys = people("ada", "bob", "cyd")
    sharing, deal = together.begin(public(keys), threshold=2)
    sealed = together.seal_together(b"who it was", point=sharing.point, context=b"case")
    assert len(sealed) == len(b"who it was") + together.OVERHEAD_BYTES
    given = parts(sealed, sharing, [deal], keys, *keys)
    for two in (given[:2], given[1:], given[::2], given):
        assert opened(sealed, two, sharing) == b"who it was"
    for one in given:
        with pytest.raises(TooFewTogether) as caught:
            opened(sealed, [one, one], sharing)
        assert (caught.value.have, caught.value.need) == (1, 2)
    with pytest.raises(WrongKey):
        opened(sealed, given, sharing, context=b"another case")
    with pytest.raises(WrongKey):
        opened(sealed[:-1] + bytes((sealed[-1] ^ 1,)), given, sharing)


def test_parts_of_one_opening_are_of_no_use_for_another() -> None:
    keys = people("ada", "bob", "cyd")
    sharing, deal = together.begin(public(keys), threshold=2)
    first, second = (together.seal_together(b"name", point=sharing.point, context=b"case") for _ in range(2))
    given = parts(first, sharing, [deal], keys, b"ada", b"bob")
    (own,) = parts(second, sharing, [deal], keys, b"ada")
    with pytest.raises(TooFewTogether):
        opened(second, [own, given[1]], sharing)


def test_a_part_that_is_wrong_does_not_count_and_stops_nobody() -> None:
    keys = people("ada", "bob", "cyd")
    sharing, deal = together.begin(public(keys), threshold=2)
    sealed = together.seal_together(b"name", point=sharing.point, context=b"case")
    ada, bob, cyd = parts(sealed, sharing, [deal], keys, *keys)
    lying = together.part_of(sealed, Scalar.random(), sharing=sharing, member=b"bob")
    for wrong in (lying, bytes((2,)) + cyd[1:], bob[:-1], bytes((9,)) + bob[1:], bytes((0,)) + bob[1:], b""):
        with pytest.raises(TooFewTogether):
            opened(sealed, [ada, wrong], sharing)
        assert opened(sealed, [ada, wrong, cyd], sharing) == b"name"


def test_who_comes_gets_a_share_from_those_who_are_there_and_who_went_has_none() -> None:
    keys = people("ada", "bob", "cyd")
    before, deal = together.begin(public(keys), threshold=2)
    sealed = together.seal_together(b"name", point=before.point, context=b"case")
    later = {b"bob": keys[b"bob"], b"cyd": keys[b"cyd"], **people("dan", "eve")}
    new = public(later)
    deals = [
        together.hand_on(share_of(before, [deal], keys, each), sharing=before, member=each, members=new, threshold=2)
        for each in (b"ada", b"cyd")
    ]
    with pytest.raises(TooFewTogether):
        together.handed_on(before, deals[:1], list(later))
    after = together.handed_on(before, deals, list(later))
    assert after.point == before.point
    assert after.epoch == 1
    assert opened(sealed, parts(sealed, after, deals, later, b"dan", b"eve"), after) == b"name"
    with pytest.raises(NotInAudience):
        share_of(after, deals, keys, b"ada")
    # Old and new do not combine, by either account of who has which share.
    (former,) = parts(sealed, before, [deal], keys, b"ada")
    (present,) = parts(sealed, after, deals, later, b"dan")
    for sharing in (before, after):
        with pytest.raises(TooFewTogether):
            opened(sealed, [former, present], sharing)
    # More may have to act together from now on.
    three = [
        together.hand_on(share_of(after, deals, later, each), sharing=after, member=each, members=new, threshold=3)
        for each in (b"bob", b"eve")
    ]
    last = together.handed_on(after, three, list(later))
    assert last.threshold == 3
    assert opened(sealed, parts(sealed, last, three, later, b"bob", b"cyd", b"eve"), last) == b"name"
    with pytest.raises(TooFewTogether):
        opened(sealed, parts(sealed, last, three, later, b"bob", b"cyd"), last)


def test_who_hands_on_something_else_is_found() -> None:
    keys = people("ada", "bob", "cyd")
    sharing, deal = together.begin(public(keys), threshold=2)
    honest = together.hand_on(
        share_of(sharing, [deal], keys, b"ada"), sharing=sharing, member=b"ada", members=public(keys), threshold=2
    )
    lying = together.hand_on(Scalar.random(), sharing=sharing, member=b"bob", members=public(keys), threshold=2)
    with pytest.raises(ShareRefused, match="number 2"):
        together.handed_on(sharing, [honest, lying], list(keys))
    swapped = replace(deal, sealed={**deal.sealed, b"ada": deal.sealed[b"bob"]})
    with pytest.raises(ShareRefused):
        share_of(sharing, [swapped], keys, b"ada")
    keys[b"dan"] = SecretKey.generate()
    with pytest.raises(ConfigurationError):
        together.begin(public(keys), threshold=5)
