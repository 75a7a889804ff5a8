"""Write the test vectors of audiences: an independent second implementation of docs/format.md, "Audiences".

As its siblings it imports nothing of edna, and its keys and random numbers are fixed. Its tree is one of objects that know their children.

    python -m tests.vectors.audiences.generate            writes one JSON file per case beside this one
    python -m tests.vectors.audiences.generate --check    writes nothing, exits 1 if a file is missing, different or superfluous

Each file holds `operation`. `follow`: updates are followed, then members come to the secrets of the root, the present one first.
`open_together`: parts open what was sealed, in a sharing. `open_hop`: what goes along a channel. `check_tag`: whether a row, of which the
columns that a tag is over are given, carries a tag of this site. `find_copy`: where the copy of that number about somebody lies. In these
two, `database` is the alias of the one in which the row is, of several. Then `expect`, or `error`, the name of the class that must be
raised. Bytes are hexadecimal.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacl import bindings as sodium

from tests.vectors.generate import (
    MAC_KEY,
    OLD_MAC_KEY,
    Pair,
    blake2b,
    fixed,
    flipped,
    pack,
    sealed_box,
    tagged,
    written,
)
from tests.vectors.guardians.generate import at, base_times, hash_to_scalar, lagrange, scalar, spelled, times

HERE = Path(__file__).resolve().parent

Case = dict[str, Any]

AUDIENCE = fixed("audience", 16)


class Person:
    def __init__(self, name: str) -> None:
        self.name, self.keys = name, Pair(f"member {name}")
        self.seed = blake2b(self.keys.secret, purpose=b"edna.aud.sign.1")
        verify_key, self.signing = sodium.crypto_sign_seed_keypair(self.seed)
        self.card = verify_key + self.keys.public
        self.id = blake2b(self.card, purpose=b"edna.aud.membr.1", size=16)


class Place:
    """A node, or the leaf of a person."""

    def __init__(self, number: int, children: Sequence[Place] = (), person: Person | None = None) -> None:
        self.number, self.children, self.person = number, list(children), person
        self.keys, self.set_by = (person.keys if person else None), ""

    @property
    def leaves(self) -> list[Place]:
        return [self] if self.person else [leaf for child in self.children for leaf in child.leaves]

    @property
    def height(self) -> int:
        return 0 if self.person else 1 + max(child.height for child in self.children)


class Told:
    """The story of an audience: its tree, and its updates."""

    def __init__(self) -> None:
        self.root: Place | None = None
        self.next, self.head, self.updates, self.secrets = 1, bytes(32), [], []
        self.members: list[Person] = []

    def number(self) -> int:
        self.next += 1
        return self.next - 1

    def create(self, *names: str) -> Told:
        people = [Person(name) for name in names]
        self.members = people
        self.merge([Place(self.number(), person=person) for person in people])
        return self.sign(1, people[0], come=people)

    def join(self, by: str, name: str) -> Told:
        person = Person(name)
        self.members = [*self.members, person]
        assert self.root is not None
        if len(self.members) <= 16:
            self.merge([*sorted(self.root.leaves, key=self._age), Place(self.number(), person=person)])
        else:
            level = [self.root]
            while not any(place.person for place in level):
                level = [child for place in level for child in place.children]
            beside = next(place for place in level if place.person)
            leaf = Place(self.number(), person=person)
            self.replace(beside, Place(self.number(), [beside, leaf]))
        return self.sign(2, Person(by), come=[person])

    def leave(self, by: str, *names: str) -> Told:
        gone = [Person(name) for name in names]
        self.members = [person for person in self.members if person.name not in names]
        leaves = {leaf.person.name: leaf for leaf in self.root.leaves}
        if len(self.members) < 16:
            self.merge([leaves[person.name] for person in self.members])
            return self.sign(3, Person(by), go=gone)
        spoilt = [
            place for place in self.all() if place.set_by in names or any(leaves[n] in place.children for n in names)
        ]
        for place in self.all()[::-1]:
            if place not in spoilt and any(child in spoilt for child in place.children):
                spoilt.append(place)
        if len(names) == 1:
            above = next(place for place in self.all() if leaves[names[0]] in place.children)
            (sibling,) = (child for child in above.children if child is not leaves[names[0]])
            self.replace(above, sibling)
            for place in spoilt:
                place.keys = None
        else:
            going = [leaves[name] for name in names]
            whole = [
                child for place in spoilt for child in place.children if child not in spoilt and child not in going
            ]
            self.merge(sorted(whole, key=lambda place: place.number))
        return self.sign(3, Person(by), go=gone)

    def _age(self, leaf: Place) -> int:
        return [person.name for person in self.members].index(leaf.person.name)

    def replace(self, former: Place, now: Place) -> None:
        if former is self.root:
            self.root = now
        for place in self.all():
            if place is not now:
                place.children = [now if child is former else child for child in place.children]
            if place is not now and now in place.children:
                self.renew_above(place)

    def renew_above(self, place: Place) -> None:
        place.keys = None
        for above in self.all():
            if place in above.children:
                self.renew_above(above)

    def merge(self, places: list[Place]) -> None:
        if len(self.members) < 16:
            leaves = sorted((leaf for place in places for leaf in place.leaves), key=lambda leaf: leaf.number)
            self.root = Place(self.number(), leaves)
            return
        while len(places) > 1:
            places = sorted(places, key=lambda place: (place.height, place.number))
            places = [*places[2:], Place(self.number(), places[:2])]
        (self.root,) = places

    def all(self) -> list[Place]:
        """All nodes, level by level from the root."""
        found, level = [], [self.root]
        while level:
            found += [place for place in level if not place.person]
            level = [child for place in level for child in place.children]
        return found

    def sign(self, kind: int, by: Person, come: Sequence[Person] = (), go: Sequence[Person] = ()) -> Told:
        number = len(self.updates)
        refreshed = [place for place in self.all() if place.keys is None][::-1]
        for place in refreshed:
            place.keys, place.set_by = Pair(f"node {place.number} in update {number}"), by.name
        wraps = [
            sealed_box(place.keys.secret, child.keys.public, f"wrap {place.number} {child.number} {number}")
            for place in refreshed
            for child in place.children
        ]
        root = self.root.keys
        former = [sealed_box(self.secrets[-1], root.public, f"former {number}")] if self.secrets else []
        self.secrets.append(root.secret)
        said = b"".join(
            (
                struct.pack(">BB16sQ32s16sHH", 1, kind, AUDIENCE, number, self.head, by.id, len(come), len(go)),
                *(person.card for person in come),
                *sorted(person.id for person in go),
                *(place.keys.public for place in refreshed),
                *wraps,
                *former,
            )
        )
        self.updates.append(signed(said, by))
        self.head = blake2b(self.head + self.updates[-1], purpose=b"edna.aud.head.1")
        return self

    def case(self, **others: Any) -> Case:
        secrets = [secret.hex() for secret in self.secrets[::-1]]
        return {
            "operation": "follow",
            "input": {
                "updates": [update.hex() for update in self.updates],
                "members": [person.keys.secret.hex() for person in self.members],
            },
            "expect": {
                "secrets": secrets,
                "head": self.head.hex(),
                "members": [person.id.hex() for person in self.members],
            },
            **others,
        }


def signed(said: bytes, by: Person) -> bytes:
    return said + sodium.crypto_sign(b"edna audience update 1\n" + said, by.signing)[:64]


def refused(told: Told, last: bytes, error: str) -> Case:
    case = told.case()
    case["input"]["updates"][-1] = last.hex()
    return {"operation": "follow", "input": case["input"], "error": error}


def names(count: int) -> list[str]:
    return [f"person {number}" for number in range(count)]


def follow_cases() -> dict[str, Case]:
    few = Told().create("ada", "bob", "cyd").join("bob", "dan").leave("dan", "ada")
    grown = Told().create(*names(15)).join("person 3", "person 15").join("person 4", "person 16")
    many = Told().create(*names(20)).leave("person 5", "person 11").leave("person 1", "person 5")
    several = (
        Told().create(*names(40)).join("person 2", "person 40").leave("person 1", "person 2", "person 7", "person 31")
    )
    last, stranger = few.updates[-1], Person("eve")
    head = struct.calcsize(">BB16sQ32s16s")
    by_stranger = last[: head - 16] + stranger.id + last[head:-64]
    return {
        "few": few.case(),
        "grown": grown.case(),
        "one-by-one": many.case(),
        "several": several.case(),
        "shrunk": Told().create(*names(17)).leave("person 3", "person 4", "person 0").case(),
        "signature": refused(few, flipped(last, len(last) - 1), "AudienceForged"),
        "wrap-changed": refused(few, flipped(last, len(last) - 200), "AudienceForged"),
        "by-nobody": refused(few, signed(by_stranger, stranger), "AudienceRefused"),
        "signed-by-another": refused(few, signed(last[:-64], Person("bob")), "AudienceForged"),
        "cut": refused(few, signed(last[:-144], Person("dan")), "AudienceRefused"),
        "too-much": refused(few, signed(last[:-64] + bytes(80), Person("dan")), "AudienceRefused"),
        "other-version": refused(few, b"\2" + last[1:], "AudienceRefused"),
        "other-kind": refused(few, signed(last[:1] + b"\4" + last[2:-64], Person("dan")), "AudienceRefused"),
        "other-audience": refused(few, signed(last[:2] + bytes(16) + last[18:-64], Person("dan")), "AudienceRefused"),
        "twice": refused(few, few.updates[-2], "AudienceChanged"),
        "other-head": refused(few, signed(flipped(last[:-64], 30), Person("dan")), "AudienceChanged"),
        "wrong-wrap": refused(few, _wrong_wraps(few), "WrapRefused"),
    }


def _wrong_wraps(told: Told) -> bytes:
    """Another secret than the public key's is told, and signed."""
    last = told.updates[-1][:-64]
    others = [sealed_box(fixed("another"), leaf.keys.public, f"wrong {leaf.number}") for leaf in told.root.children]
    return signed(last[: -80 * (1 + len(others))] + b"".join(others) + last[-80:], Person("dan"))


SHARING, CONTEXT, CONTENT = fixed("sharing", 16), b"what it belongs to", b"who it was"
FIRST = [scalar("what is shared"), scalar("its first power")]


def sealed_together(secret: int) -> bytes:
    ephemeral = base_times(secret)
    said = CONTEXT + ephemeral
    point = times(base_times(FIRST[0]), secret)
    output = blake2b(len(said).to_bytes(8, "big") + said + point, purpose=b"edna.guard.out.1")
    key = blake2b(b"", purpose=b"edna.aud.hold.1", key=output)
    return ephemeral + sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(CONTENT, CONTEXT, bytes(24), key)


def part(sealed: bytes, coefficients: Sequence[int], number: int, epoch: int, share: int | None = None) -> bytes:
    share, nonce, point = at(coefficients, number) if share is None else share, scalar(f"nonce {number}"), sealed[:32]
    place = SHARING + epoch.to_bytes(8, "big") + bytes((number,))
    ours = times(point, share)
    challenge = hash_to_scalar(place + base_times(share) + point + ours + base_times(nonce) + times(point, nonce))
    return bytes((number,)) + ours + spelled(challenge) + spelled(nonce + challenge * share)


def together_cases() -> dict[str, Case]:
    sealed = sealed_together(scalar("ephemeral of what is opened together"))
    # Numbers 1 and 3 have handed on, to four.
    dealt = {number: [at(FIRST, number), scalar(f"next power of {number}")] for number in (1, 3)}
    after = [sum(lagrange([1, 3], n) * dealt[n][power] for n in dealt) for power in range(2)]

    def case(*parts: bytes, coefficients: Sequence[int] = FIRST, epoch: int = 0, count: int = 3, **others: Any) -> Case:
        given = {
            "sealed": sealed.hex(),
            "parts": [each.hex() for each in parts],
            "sharing": SHARING.hex(),
            "epoch": epoch,
            "members": count,
            "commitments": [base_times(each).hex() for each in coefficients],
            "context": CONTEXT.hex(),
        }
        given |= {name: value for name, value in others.items() if name in given}
        end = {"error": others["error"]} if "error" in others else {"expect": CONTENT.hex()}
        return {"operation": "open_together", "input": given, **end}

    one, two, three = (part(sealed, FIRST, number, 0) for number in (1, 2, 3))
    later = [part(sealed, after, number, 1) for number in (2, 4)]
    lying = part(sealed, FIRST, 2, 0, share=scalar("no share"))
    return {
        "together": case(one, three),
        "together-all": case(one, two, three),
        "together-past-a-lie": case(one, lying, three),
        "together-handed-on": case(*later, coefficients=after, epoch=1, count=4),
        "together-one": case(two, error="TooFewTogether"),
        "together-twice-the-same": case(two, two, error="TooFewTogether"),
        "together-lie": case(one, lying, error="TooFewTogether"),
        "together-old-and-new": case(one, later[1], coefficients=after, epoch=1, count=4, error="TooFewTogether"),
        "together-elsewhere": case(one, two, context=b"something else".hex(), error="WrongKey"),
        "together-changed": case(one, two, sealed=flipped(sealed, 40).hex(), error="WrongKey"),
    }


def hop_cases() -> dict[str, Case]:
    ada, bob = Person("ada"), Person("bob")
    context, nonce, told = fixed("head"), fixed("nonce of a hop", 24), fixed("told")
    shared = sodium.crypto_scalarmult(ada.keys.secret, bob.keys.public)
    key = blake2b(shared + b"".join(sorted((ada.keys.public, bob.keys.public))), purpose=b"edna.aud.chan.1")
    said = sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(told, context + ada.id + bob.id, nonce, key)
    given = {
        "own": bob.keys.secret.hex(),
        "theirs": ada.keys.public.hex(),
        "sender": ada.id.hex(),
        "reader": bob.id.hex(),
    }
    given |= {"context": context.hex(), "sealed": (nonce + said).hex()}
    return {
        "hop": {"operation": "open_hop", "input": given, "expect": told.hex()},
        "hop-back": {
            "operation": "open_hop",
            "input": {**given, "sender": bob.id.hex(), "reader": ada.id.hex()},
            "expect": None,
        },
        "hop-later": {
            "operation": "open_hop",
            "input": {**given, "context": fixed("head later").hex()},
            "expect": None,
        },
    }


def tag(said: list[Any], purpose: bytes, server_key: bytes = MAC_KEY) -> bytes:
    key = blake2b(server_key, purpose=b"edna.tags.key.1")
    return blake2b(pack(said), purpose=purpose, key=key, size=16)


def tag_cases() -> dict[str, Case]:
    """Of a row of each table: with its tag, with that of another row, and with a byte changed in what it says."""
    row, other, member = 2**62 + 1, 2**62 + 2, Person("ada").id
    update = Told().create("ada", "bob", "cyd").updates[0]
    shared = [
        [SHARING, 0, [member], [base_times(FIRST[0])], []],
        [[0, [base_times(FIRST[0])], [[member, fixed("box", 48)]]]],
    ]
    asked = [row, "chairs", 2, member, "2026-11-25", "hotcrp_sim.contactinfo", "-17", "case 12", fixed("place")]
    rows: dict[str, tuple[bytes, list[Any]]] = {
        "update": (b"edna.aud.updat.1", [row, "chairs", 0, update]),
        "name": (b"edna.aud.name.1", [row, "chairs", member, "Ada"]),
        "shares": (b"edna.aud.share.1", [row, "chairs", 2, 0, 0, pack(shared)]),
        "copy": (
            b"edna.held.tag.1",
            [row, fixed("place"), fixed("mark"), SHARING, sealed_together(scalar("of a copy"))],
        ),
        "request": (b"edna.held.ask.1", asked),
    }

    def case(kind: str, said: list[Any], given: bytes, *, right: bool, **where: str) -> Case:
        told = {"row": kind, "columns": [tagged(each) for each in said], "tag": given.hex()}
        return {
            "operation": "check_tag",
            "input": {**told, **where, "mac_keys": [MAC_KEY.hex(), OLD_MAC_KEY.hex()]},
            "expect": right,
        }

    cases = {}
    for kind, (purpose, said) in rows.items():
        moved, last = [other, *said[1:]], said[-1]
        changed = [*said[:-1], flipped(last, 0) if isinstance(last, bytes) else f"{last}!"]
        cases |= {
            f"tag-{kind}": case(kind, said, tag(said, purpose), right=True),
            f"tag-{kind}-of-another-row": case(kind, moved, tag(said, purpose), right=False),
            f"tag-{kind}-changed": case(kind, changed, tag(said, purpose), right=False),
            f"tag-{kind}-of-a-database": case(kind, said, tag([*said, "north"], purpose), right=True, database="north"),
            f"tag-{kind}-of-another-database": case(
                kind, said, tag([*said, "north"], purpose), right=False, database="south"
            ),
        }
    purpose, said = rows["request"]
    cases["tag-older-key"] = case("request", said, tag(said, purpose, OLD_MAC_KEY), right=True)
    cases["tag-of-nobody"] = case("request", said, tag(said, purpose, fixed("no server key")), right=False)
    cases["tag-of-another-table"] = case("request", said, tag(said, b"edna.held.tag.1"), right=False)
    cases["tag-of-no-database"] = case("request", said, tag(said, purpose), right=False, database="north")
    return cases


def place_cases() -> dict[str, Case]:
    """By each key of the server; in one of several databases first where only those of this one lie."""
    given: Case = {"model": "hotcrp_sim.contactinfo", "key": "-17", "number": 3}
    said = b"hotcrp_sim.contactinfo\0-17\x003"
    keys = [blake2b(each, purpose=b"edna.held.key.1") for each in (MAC_KEY, OLD_MAC_KEY)]
    alone = [blake2b(said, purpose=b"edna.held.plc.1", key=key).hex() for key in keys]
    here = [blake2b(b"north\0" + said, purpose=b"edna.held.plc.2", key=key).hex() for key in keys]
    given["mac_keys"] = [MAC_KEY.hex(), OLD_MAC_KEY.hex()]
    return {
        "place": {"operation": "find_copy", "input": given, "expect": alone},
        "place-of-a-database": {
            "operation": "find_copy",
            "input": {**given, "database": "north"},
            "expect": [*here, *alone],
        },
    }


def all_cases() -> dict[str, str]:
    """Return the text of every vector file by its name."""
    every = {**follow_cases(), **together_cases(), **hop_cases(), **tag_cases(), **place_cases()}
    return {f"{name}.json": json.dumps(case, indent=1, sort_keys=True) + "\n" for name, case in every.items()}


if __name__ == "__main__":
    sys.exit(written(sys.argv[1:], all_cases(), into=HERE))
