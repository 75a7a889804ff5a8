"""Write the test vectors of groups of devices: an independent second implementation of docs/format.md, "Groups of devices".

As its sibling one folder up it imports nothing of edna, and its keys and random numbers are fixed.

    python -m tests.vectors.devices.generate            writes one JSON file per case beside this one
    python -m tests.vectors.devices.generate --check    writes nothing, exits 1 if a file is missing, different or superfluous

Each file holds `operation`:

- `catch_up`: a device, by its stored state, reads entries of a log, and knows something afterwards;
- `act`: it reads them, then does something, with these random bytes in the order in which it draws them;
- `places`: where a site keeps what devices leave there; `open_state`, `open_note`, `open_card`, `open_welcome`: what lies there, opened.

Then either `expect`, or `error`, the name of the class that must be raised. Bytes are hexadecimal.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

from nacl import bindings as sodium

from tests.vectors.generate import Pair, blake2b, container, fixed, flipped, pack, written

HERE = Path(__file__).resolve().parent

Case = dict[str, Any]

GROUP, NO_HASH = fixed("group", 16), bytes(32)


class Holder:
    """A device: its keys by how often it has updated, and the key for each that writes to it."""

    def __init__(self, name: str) -> None:
        self.name, self.renewed = name, 0
        self.for_others: dict[str, Pair] = {}
        self.id = blake2b(self.card(), purpose=b"edna.group.dev.1", size=16)

    @property
    def seed(self) -> bytes:
        return fixed(f"signing seed {self.renewed} of {self.name}")

    @property
    def prekey(self) -> Pair:
        return Pair(f"prekey {self.renewed} of {self.name}")

    def card(self) -> bytes:
        return sodium.crypto_sign_seed_keypair(self.seed)[0] + self.prekey.public

    def key_for(self, sender: Holder) -> Pair:
        return self.for_others.get(sender.name, self.prekey)

    def sign(self, message: bytes) -> bytes:
        _, secret = sodium.crypto_sign_seed_keypair(self.seed)
        return sodium.crypto_sign(b"edna devices operation 1\n" + message, secret)[:64]

    def state(self, pending: list[Any] | None = None) -> str:
        """Of a device that knows of no group yet."""
        group = [b"", -1, NO_HASH, NO_HASH, [], [], None, False]
        return pack([1, self.id, [self.seed, self.prekey.secret], group, [], [], pending]).hex()


class Story:
    """The log of a group, and who is in it."""

    def __init__(self, *names: str) -> None:
        self.everybody = {name: Holder(name) for name in ("laptop", "phone", "tablet", "watch")}
        self.members: list[Holder] = []
        self.entries: list[bytes] = []
        self.heads = [NO_HASH]
        self.secrets: dict[int, bytes] = {}
        first, *others = (self.everybody[name] for name in names)
        self.members = [first, *others]
        cards = b"".join(holder.card() for holder in self.members)
        self.append(self.made_by(first, 1, struct.pack(">H", len(names)) + cards, others))

    def made_by(
        self, sender: Holder, kind: int, begin: bytes, readers: list[Holder], handed: list[bytes] | None = None
    ) -> bytes:
        sequence = len(self.entries)
        head = struct.pack(">BB16sQ32s16s", 1, kind, GROUP, sequence, self.heads[sequence], sender.id)
        label = f"{sender.name} at {sequence}"
        ephemeral, secret, keys = Pair(f"ephemeral of {label}"), fixed(f"group secret of {label}"), b""
        if handed is None:
            keys = Pair("", blake2b(b"", purpose=b"edna.group.key.1", key=secret)).public
            self.secrets[sequence] = secret
        messages = []
        for reader in readers:
            to, theirs, own = (
                reader.key_for(sender),
                Pair(f"{label} for {reader.name}"),
                Pair(f"{label} from {reader.name}"),
            )
            said = theirs.secret + own.public + b"".join(handed or [secret])
            shared = sodium.crypto_scalarmult(ephemeral.secret, to.public)
            key = blake2b(shared + ephemeral.public + to.public + head + reader.id, purpose=b"edna.group.msg.1")
            messages.append(sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(said, b"", bytes(24), key))
            reader.for_others[sender.name] = theirs
            sender.for_others[reader.name] = own
        body = head + begin + keys + ephemeral.public + b"".join(messages)
        return body + sender.sign(body)

    def append(self, raw: bytes) -> None:
        self.entries.append(raw)
        self.heads.append(blake2b(self.heads[-1] + raw, purpose=b"edna.group.log.1"))

    def update(self, name: str) -> Story:
        sender = self.everybody[name]
        renewed = Holder(name)
        renewed.renewed = sender.renewed + 1
        self.append(self.made_by(sender, 4, renewed.card(), [each for each in self.members if each is not sender]))
        sender.renewed += 1
        return self

    def add(self, name: str, new: str, *, numbers: list[int]) -> Story:
        added = self.everybody[new]
        handed = [self.secrets[number] for number in numbers]
        self.append(self.made_by(self.everybody[name], 2, added.card(), [added], handed))
        self.members.append(added)
        return self

    def removal(self, name: str, gone: str) -> bytes:
        sender, removed = self.everybody[name], self.everybody[gone]
        readers = [each for each in self.members if each not in (sender, removed)]
        return self.made_by(sender, 3, removed.id, readers)

    def remove(self, name: str, gone: str) -> Story:
        self.append(self.removal(name, gone))
        self.members.remove(self.everybody[gone])
        return self

    def expect(self, *numbers: int, due: bool = False) -> dict[str, Any]:
        newest = self.secrets[max(self.secrets)]
        return {
            "members": [member.id.hex() for member in self.members],
            "sequence": len(self.entries) - 1,
            "head": self.heads[-1].hex(),
            "public_key": Pair("", blake2b(b"", purpose=b"edna.group.key.1", key=newest)).public.hex(),
            "secrets": {str(number): self.secrets[number].hex() for number in numbers},
            "due": due,
        }

    def case(self, description: str, reader: str, expected: dict[str, Any] | str, **given: Any) -> Case:
        entries = given.get("entries", self.entries)
        state = given.get("state") or Holder(reader).state()
        outcome = {"error": expected} if isinstance(expected, str) else {"expect": expected}
        said = {"state": state, "entries": [entry.hex() for entry in entries]}
        return {"operation": "catch_up", "description": description, "input": said, **outcome}


def cases() -> dict[str, Case]:
    long = Story("laptop", "phone", "tablet").update("laptop").update("phone").update("phone")
    long.add("laptop", "watch", numbers=[0, 1, 2, 3]).update("watch").remove("laptop", "phone").update("laptop")
    handed = Story("laptop", "phone").update("laptop").add("phone", "watch", numbers=[0, 1]).update("laptop")
    present = Story("laptop", "phone").update("laptop").add("phone", "watch", numbers=[1]).update("phone")
    gone = Story("laptop", "phone", "tablet").remove("laptop", "tablet").update("phone")
    crossing = Story("laptop", "phone", "tablet")
    second = crossing.removal("phone", "laptop")
    crossing.remove("laptop", "phone").append(second)
    crossing.members.remove(crossing.everybody["laptop"])
    made = Story("laptop")
    ready = [
        made.entries[0],
        [made.everybody["laptop"].seed, made.everybody["laptop"].prekey.secret],
        [],
        made.secrets[0],
    ]
    two = Story("laptop", "phone", "tablet").update("laptop").update("phone")
    first, update, last = two.entries
    other = Story("laptop", "phone", "tablet").update("phone")
    swapped = _swapped_messages(two)
    return {
        "read": long.case("a device that only reads", "tablet", long.expect(0, 1, 2, 3, 5, 6, 7)),
        "added-with-history": handed.case(
            "a device that is handed all secrets, and told the next one by another", "watch", handed.expect(0, 1, 3)
        ),
        "added-with-the-present": present.case(
            "a device that is handed the present secret, and is told the next one", "watch", present.expect(1, 3)
        ),
        "removed": gone.case(
            "a device that was removed: it sees who is in the group, and no secret", "tablet", gone.expect(0)
        ),
        "crossed": crossing.case(
            "two have removed each other: an update is due", "tablet", crossing.expect(0, 1, due=True)
        ),
        "pending": made.case(
            "an operation that was made ready stands in the log",
            "laptop",
            made.expect(0),
            state=Holder("laptop").state(ready),
        ),
        "copied": made.case("the device has signed what it has not made", "laptop", "DeviceCopied"),
        "forged": two.case(
            "another signature", "tablet", "OperationForged", entries=[first, flipped(update, len(update) - 1), last]
        ),
        "changed": two.case(
            "a message was changed",
            "tablet",
            "OperationForged",
            entries=[first, flipped(update, len(update) - 80), last],
        ),
        "replayed": two.case("an operation twice", "tablet", "OperationReplayed", entries=[first, update, update]),
        "gap": two.case("an operation is missing", "tablet", "DeviceLogTruncated", entries=[first, last]),
        "forked": two.case(
            "behind another operation", "tablet", "DeviceLogForked", entries=[first, other.entries[1], last]
        ),
        "swapped": two.case(
            "two messages have changed places", "tablet", "DirectMessageRefused", entries=[first, swapped]
        ),
        "stranger": two.case("begins with an update", "tablet", "OperationRefused", entries=[_at_the_beginning(two)]),
        "ends-early": two.case("ends in its head", "tablet", "OperationRefused", entries=[first[:100]]),
        "of-another-version": two.case("version 2", "tablet", "OperationRefused", entries=[b"\2" + first[1:]]),
        "no-state": two.case("no state of a device", "tablet", "DeviceStateRefused", state="90"),
    }


def act_cases() -> dict[str, Case]:
    """What a device makes of given random bytes, to the byte."""

    def case(description: str, reader: str, before: list[bytes], raw: bytes, random: list[bytes], **does: Any) -> Case:
        given = {"state": Holder(reader).state(), "entries": [entry.hex() for entry in before], **does}
        given["random"] = [each.hex() for each in random]
        return {"operation": "act", "description": description, "input": given, "expect": {"operation": raw.hex()}}

    def drawn(label: str, *readers: str, secret: bool = True) -> list[bytes]:
        secrets = [fixed(f"group secret of {label}")] * secret
        names = [name for reader in readers for name in (f"{label} for {reader}", f"{label} from {reader}")]
        return [Pair(f"ephemeral of {label}").secret, *secrets, *(Pair(name).secret for name in names)]

    begun = Story("laptop", "phone", "tablet")
    cards = [begun.everybody[name].card().hex() for name in ("phone", "tablet")]
    random = [GROUP, *drawn("laptop at 0", "phone", "tablet")]
    made = {"create": case("a group of three", "laptop", [], begun.entries[0], random, act="create", cards=cards)}

    read = Story("laptop", "phone", "tablet").update("laptop")
    before = list(read.entries)
    renewed = Holder("phone")
    renewed.renewed = 1
    random = [renewed.seed, renewed.prekey.secret, *drawn("phone at 2", "laptop", "tablet")]
    read.update("phone")
    made["update"] = case("new keys of a device", "phone", before, read.entries[2], random, act="update")

    read = Story("laptop", "phone", "tablet").update("laptop")
    random, gone = drawn("phone at 2", "tablet"), read.everybody["laptop"].id.hex()
    removal = read.removal("phone", "laptop")
    made["remove"] = case("a device goes", "phone", before, removal, random, act="remove", device=gone)

    for name, numbers in (("add", [0, 1]), ("add-with-the-present", [1])):
        read = Story("laptop", "phone", "tablet").update("laptop").add("phone", "watch", numbers=numbers)
        card, random = read.everybody["watch"].card().hex(), drawn("phone at 2", "watch", secret=False)
        does = {"act": "add", "card": card, "with_history": len(numbers) > 1}
        made[name] = case("a device comes", "phone", before, read.entries[2], random, **does)
    return {f"act-{name}": each for name, each in made.items()}


def kept_cases() -> dict[str, Case]:
    """Records of a site: where they lie, and what opens them."""
    phone, watch, key = Holder("phone"), Holder("watch"), Pair("key of the phone")
    code, number = _code(phone), 300
    places = {
        "entry": blake2b(struct.pack(">Q", number), purpose=b"edna.group.idx.1", key=GROUP),
        "note": blake2b(phone.id, purpose=b"edna.group.note1", key=GROUP),
        "state": blake2b(b"", purpose=b"edna.group.own.1", key=key.secret),
        "card": blake2b(code.encode(), purpose=b"edna.group.crd.1"),
        "welcome": blake2b(phone.id, purpose=b"edna.group.wel.1"),
    }
    given = {"group": GROUP.hex(), "number": number, "device": phone.id.hex(), "secret_key": key.secret.hex()}
    group_key = Pair("", blake2b(b"", purpose=b"edna.group.read1", key=GROUP)).public
    code_key = Pair("", blake2b(code.encode(), purpose=b"edna.group.crd.k")).public
    state = container(bytes.fromhex(phone.state()), recipients=(key.public,))
    note = container(pack(["Bea's ph\u00f6ne", "2026-11"]), recipients=(group_key,))
    changed = flipped(state, len(state) - 1)

    def case(operation: str, description: str, outcome: Any, **given: Any) -> Case:
        ending = (
            {"error": outcome["error"]} if isinstance(outcome, dict) and "error" in outcome else {"expect": outcome}
        )
        return {"operation": operation, "description": description, "input": given, **ending}

    def card(description: str, outcome: Any, sealed: bytes, typed: str) -> Case:
        return case("open_card", description, outcome, sealed=sealed.hex(), code=typed)

    own, foreign = (container(holder.card(), recipients=(code_key,)) for holder in (phone, watch))
    refused = {"error": "DeviceCodeRefused"}
    codes = {"code": code, "code_of_group": _shown(blake2b(GROUP, purpose=b"edna.group.say.1", size=16))}
    expect = {name: place.hex() for name, place in places.items()} | codes
    typed = code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
    welcome = container(GROUP, recipients=(phone.prekey.public,))
    return {
        "places": case("places", "where a site keeps things, by a code as it was typed", expect, **given, typed=typed),
        "state": case(
            "open_state", "the state of a device", phone.state(), sealed=state.hex(), secret_key=key.secret.hex()
        ),
        "state-changed": case(
            "open_state",
            "one that was changed",
            {"error": "DeviceStateRefused"},
            sealed=changed.hex(),
            secret_key=key.secret.hex(),
        ),
        "note": case(
            "open_note",
            "what a device is called",
            ["Bea's ph\u00f6ne", "2026-11"],
            sealed=note.hex(),
            group=GROUP.hex(),
        ),
        "welcome": case(
            "open_welcome", "to which group a device was added", GROUP.hex(), sealed=welcome.hex(), state=phone.state()
        ),
        "card": card("the card under a code", phone.card().hex(), own, typed),
        "card-of-another": card("another device's card under a code", refused, foreign, code),
        "code-mistyped": card("a code with a symbol too few", refused, own, code[:-1]),
        "code-of-another-alphabet": card("a code with a U", refused, own, "U" + code[1:]),
        "code-of-another": card("the code of another device", refused, own, _code(watch)),
    }


def _code(holder: Holder) -> str:
    return _shown(holder.id)


def _shown(begins: bytes) -> str:
    number, alphabet = int.from_bytes(begins, "big") >> 68, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    text = "".join(alphabet[number >> 5 * at & 31] for at in range(11, -1, -1))
    return "-".join((text[:4], text[4:8], text[8:]))


def _swapped_messages(story: Story) -> bytes:
    """The first update with its messages in the other order, and a good signature."""
    raw, sender = story.entries[1], Holder("laptop")
    body, messages = raw[:-64][:-224], raw[:-64][-224:]
    changed = body + messages[112:] + messages[:112]
    return changed + sender.sign(changed)


def _at_the_beginning(story: Story) -> bytes:
    raw, sender = story.entries[1], Holder("laptop")
    changed = raw[:18] + bytes(8) + NO_HASH + raw[58:-64]
    return changed + sender.sign(changed)


def all_cases() -> dict[str, str]:
    """Return the text of every vector file by its name."""
    every = {**cases(), **act_cases(), **kept_cases()}
    return {f"{name}.json": json.dumps(case, indent=1, sort_keys=True) + "\n" for name, case in every.items()}


if __name__ == "__main__":
    sys.exit(written(sys.argv[1:], all_cases(), into=HERE))
