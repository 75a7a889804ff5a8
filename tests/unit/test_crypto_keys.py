"""Keys: secrets that cannot leak by accident (secrets are a type), public keys that protect, one keyed hash."""

from __future__ import annotations

import base64
import copy
import dataclasses
import json
import logging
import pickle
import pprint
from collections.abc import Callable
from typing import Any

import msgpack
import pytest
from django.core import signing
from django.core.serializers.json import DjangoJSONEncoder
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import crypto_box_seal, crypto_box_seal_open, crypto_scalarmult_base
from nacl.exceptions import CryptoError

from edna.crypto.keys import PublicKey, Secret, SecretKey, derive, deriving, fingerprint, generate_key_pairs
from edna.custody.base import SlotSecret
from edna.custody.recovery import RecoveryCode
from edna.errors import KeyMalformed, SecretKeyLeak
from edna.records.locator import Locator, Receipt
from tests.unit.leaks import assert_error_leaks_nothing

pytestmark = pytest.mark.long

SECRETS = [SecretKey, SlotSecret, Locator, RecoveryCode]
RAW = bytes(range(65, 97))


def make(kind: type[Secret]) -> Secret:
    return kind(RAW[: kind.SIZE])


def spellings(secret: Secret) -> list[str]:
    raw = secret.expose()
    return [
        raw.hex(),
        raw.decode("ascii"),
        repr(raw),
        base64.b64encode(raw).decode(),
        base64.b32encode(raw).decode()[:20],
    ]


def assert_redacted(text: str, secret: Secret) -> None:
    assert not [spelling for spelling in spellings(secret) if spelling.lower() in text.lower()]


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_cannot_be_pickled(kind: type[Secret], protocol: int) -> None:
    """Sessions, caches and task queues pickle: none of them ever gets a secret."""
    with pytest.raises(SecretKeyLeak):
        pickle.dumps(make(kind), protocol)


@pytest.mark.parametrize("wrapped", [lambda s: [s], lambda s: {"key": s}, lambda s: (1, {2: [s]})])
def test_a_secret_inside_something_cannot_be_pickled(wrapped: Callable[[Secret], object]) -> None:
    """Hiding a secret in a structure does not help."""
    with pytest.raises(SecretKeyLeak):
        pickle.dumps(wrapped(make(SecretKey)))


@pytest.mark.parametrize("kind", [SecretKey, SlotSecret, RecoveryCode])
@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
def test_a_secret_cannot_be_copied(kind: type[Secret], copier: Callable[[object], object]) -> None:
    """There is one object, and it goes away with its owner."""
    with pytest.raises(SecretKeyLeak):
        copier(make(kind))


def test_a_dataclass_with_a_secret_cannot_be_turned_into_a_dictionary() -> None:
    """dataclasses.asdict copies: what holds a secret cannot be dumped by accident."""

    @dataclasses.dataclass
    class Holder:
        key: SecretKey

    with pytest.raises(SecretKeyLeak):
        dataclasses.asdict(Holder(SecretKey(RAW)))


def kombu_dump(serializer: str) -> Callable[[object], object]:
    def dump(value: object) -> object:
        from kombu.serialization import dumps, enable_insecure_serializers

        enable_insecure_serializers([serializer])
        return dumps(value, serializer=serializer)

    return dump


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize(
    "dump",
    [
        json.dumps,
        lambda value: json.dumps(value, cls=DjangoJSONEncoder),
        signing.dumps,
        msgpack.packb,
        *map(kombu_dump, ("json", "pickle", "yaml", "msgpack")),
    ],
)
def test_no_serialiser_takes_a_secret(kind: type[Secret], dump: Callable[[object], object]) -> None:
    """Neither JSON, nor Django's JSON, nor signed cookies, nor any of Celery's serialisers writes a secret."""
    for value in (make(kind), {"args": [make(kind)]}):
        with pytest.raises(Exception, match=r"serializ|serialis|represent") as caught:
            dump(value)
        assert_redacted(repr(caught.value), make(kind))


@pytest.mark.parametrize("kind", [SecretKey, SlotSecret, Locator])
def test_a_secret_never_prints_itself(kind: type[Secret]) -> None:
    """repr, str, format, %-formatting, pprint, alone or inside a structure: the type and nothing else."""
    secret = make(kind)

    texts = [repr(secret), str(secret), f"{secret}", f"{secret:>40}", f"{secret!r}", "%s %r" % (secret, secret)]  # noqa: UP031
    texts += [ascii(secret), pprint.pformat({"key": [secret]}), repr(vars), str([secret]), format(secret, "x")]

    for text in texts:
        assert_redacted(text, secret)
    assert repr(secret) == f"<{kind.__name__} redacted>"


def test_a_recovery_code_prints_itself_only_when_asked_as_text() -> None:
    """str() is how it is shown once to its owner; repr, which logs and error pages use, is redacted."""
    code = RecoveryCode(RAW[:16])

    assert str(code) not in repr(code)
    assert str(code) not in pprint.pformat([code])
    assert_redacted(repr(code), code)


@pytest.mark.parametrize("template", ["%s", "%r", "key=%(key)s"])
def test_a_secret_is_redacted_in_a_log(template: str, caplog: pytest.LogCaptureFixture) -> None:
    """A log line shows the type and nothing else."""
    key = SecretKey(RAW)
    with caplog.at_level(logging.INFO):
        logging.getLogger("edna.test").info(template, *([{"key": key}] if "(" in template else [key]))

    assert "redacted" in caplog.text
    assert_redacted(caplog.text, key)


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_has_no_attributes_to_dump(kind: type[Secret]) -> None:
    """vars() and __dict__ do not exist; only expose() gives the bytes."""
    secret = make(kind)

    assert not hasattr(secret, "__dict__")
    with pytest.raises(TypeError):
        vars(secret)
    with pytest.raises(TypeError):
        bytes(secret)  # type: ignore[call-overload]
    with pytest.raises(AttributeError):
        secret.anything = 1  # type: ignore[attr-defined]
    assert secret.expose() == RAW[: kind.SIZE]


def test_secrets_are_equal_by_value_within_their_type_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """== compares in constant time; a locator is no key even if the bytes agree."""
    compared = []
    from edna.crypto import keys

    monkeypatch.setattr(keys.hmac, "compare_digest", lambda a, b: compared.append((a, b)) or a == b)

    assert SecretKey(RAW) == SecretKey(RAW)
    assert SecretKey(RAW) != SecretKey(bytes(32))
    assert len(compared) == 2
    assert SecretKey(RAW) != SlotSecret(RAW)
    assert SecretKey(RAW) != RAW


@pytest.mark.parametrize("kind", [SecretKey, SlotSecret, RecoveryCode])
def test_a_secret_is_not_hashable(kind: type[Secret]) -> None:
    """A dictionary keyed by secrets would compare them in variable time."""
    with pytest.raises(TypeError):
        hash(make(kind))


@pytest.mark.parametrize("raw", [b"", RAW[:31], RAW + b"!", bytearray(RAW), RAW.decode(), None])
def test_a_secret_key_of_the_wrong_size_or_type_is_refused_without_showing_it(raw: Any) -> None:
    """Cut-off key bytes are still most of a key: the error and its page do not repeat them."""
    with pytest.raises(KeyMalformed) as caught:
        SecretKey(raw)

    assert_error_leaks_nothing(caught.value, RAW[:20])


def test_generated_keys_are_different_and_know_their_public_half() -> None:
    """The public half that comes with a generated key is the one that X25519 computes from it."""
    keys = generate_key_pairs(5)

    assert len({key.expose() for key in keys}) == 5
    for key in keys:
        assert bytes(key.public_key) == crypto_scalarmult_base(key.expose())
        assert SecretKey(key.expose()).public_key == key.public_key


def test_the_text_of_a_secret_key_reads_back_whatever_happens_to_its_white_space_and_case() -> None:
    """Owners keep it on paper and in mails."""
    key = SecretKey.generate()
    text = key.expose_text()

    assert text.startswith("edna-secret-key-1:")
    assert SecretKey.parse(text) == key
    assert SecretKey.parse(f" {text[:30]}\n{text[30:].upper()} ") == key


@given(position=st.integers(18, 75), symbol=st.sampled_from("abcdefghijklmnopqrstuvwxyz234567"), cut=st.booleans())
def test_a_mistyped_or_truncated_secret_key_text_is_refused_without_showing_it(
    position: int, symbol: str, cut: bool
) -> None:
    """Any single wrong character, and any truncation, is noticed."""
    text = SecretKey(RAW).expose_text()
    wrong = text[:position] if cut else text[:position] + symbol + text[position + 1 :]
    if wrong == text:
        return

    with pytest.raises(KeyMalformed) as caught:
        SecretKey.parse(wrong)

    assert_error_leaks_nothing(caught.value, RAW, text[18:40].encode(), text[-18:].encode())


def test_a_public_key_is_a_value() -> None:
    """Hashable, comparable, its bytes available, its repr short; it may travel: it is public."""
    public = SecretKey(RAW).public_key

    assert public == PublicKey(bytes(public)) == PublicKey(memoryview(bytes(public)))  # type: ignore[arg-type]
    assert len({public, PublicKey(bytes(public))}) == 1
    assert public != bytes(public)
    assert bytes(public).hex() not in repr(public)
    assert pickle.loads(pickle.dumps(public)) == copy.deepcopy(public) == public


P = 2**255 - 19


@pytest.mark.parametrize("top_bit", [0, 2**255])
@pytest.mark.parametrize(
    "u",
    [
        0,
        1,
        325606250916557431795983626356110631294008115727848805560023387167927233504,
        39382357235489614581723060781553021112529911719440698176882885853963445705823,
        P - 1,
        P,
        P + 1,
    ],
)
def test_a_public_key_that_protects_nothing_is_refused(u: int, top_bit: int) -> None:
    """The points of small order (cr.yp.to/ecdh.html#validate), in both spellings: their shared secret is zero for everybody."""
    with pytest.raises(KeyMalformed, match="small order"):
        PublicKey((u | top_bit).to_bytes(32, "little"))


def test_what_is_sealed_to_another_spelling_of_a_key_is_lost() -> None:
    """X25519 takes it for the same point, but a box is bound to the bytes: whoever has the secret key computes the one spelling."""
    secret_key = SecretKey.generate()
    other = bytes(secret_key.public_key)[:31] + bytes((bytes(secret_key.public_key)[31] | 0x80,))
    box = crypto_box_seal(b"what is lost", other)
    with pytest.raises(CryptoError):
        crypto_box_seal_open(box, bytes(secret_key.public_key), secret_key.expose())


@pytest.mark.parametrize("u", [2**255 + 2, 2**255 + 9, 2**255 + P - 2], ids=hex)
def test_a_public_key_with_its_top_bit_set_is_refused(u: int) -> None:
    with pytest.raises(KeyMalformed, match="top bit"):
        PublicKey(u.to_bytes(32, "little"))
    assert PublicKey((u - 2**255).to_bytes(32, "little"))


@pytest.mark.parametrize("u", range(P + 2, 2**255), ids=lambda u: f"p+{u - P}")
def test_a_public_key_of_p_or_more_is_refused(u: int) -> None:
    with pytest.raises(KeyMalformed, match="2\\^255 - 19"):
        PublicKey(u.to_bytes(32, "little"))


@pytest.mark.parametrize("u", [2, 9, 2**248, P - 2, P - 256, 0x7F << 248], ids=hex)
def test_any_other_public_key_is_taken(u: int) -> None:
    assert bytes(PublicKey(u.to_bytes(32, "little"))) == u.to_bytes(32, "little")


@pytest.mark.parametrize("raw", [b"", bytes(31), bytes(33), "x" * 32, None])
def test_a_public_key_of_the_wrong_size_or_type_is_refused(raw: Any) -> None:
    """A form that posts a key gets a clear refusal, which is a ValueError too."""
    with pytest.raises(KeyMalformed) as caught:
        PublicKey(raw)
    assert isinstance(caught.value, ValueError)


def test_what_is_derived_of_many_data_is_what_is_derived_of_each() -> None:
    made = deriving(RAW, purpose=b"one", size=16)
    many = [b"", b"x", b"y" * 1000, b"x"]
    assert [made(data) for data in many] == [derive(RAW, purpose=b"one", data=data, size=16) for data in many]


def test_derived_bytes_differ_by_key_purpose_and_data() -> None:
    """Nothing derived for one purpose helps with another."""
    reference = derive(RAW, purpose=b"one", data=b"x")

    others = [
        derive(bytes(32), purpose=b"one", data=b"x"),
        derive(RAW, purpose=b"two", data=b"x"),
        derive(RAW, purpose=b"one", data=b"y"),
        fingerprint(b"x", purpose=b"one"),
    ]

    assert len({reference, *others}) == 5
    assert derive(RAW, purpose=b"one", data=b"x") == reference
    assert len(derive(RAW, purpose=b"one", data=b"x", size=16)) == 16


def test_a_receipt_may_be_copied_but_not_pickled_or_shown() -> None:
    """Frameworks copy what a test or a view keeps; nothing may write the locator into a session or a log."""
    receipt = Receipt("app.disguise", Locator(RAW))

    assert copy.deepcopy({"receipt": receipt}) == {"receipt": receipt}
    assert_redacted(repr(receipt), receipt.locator)
    with pytest.raises(SecretKeyLeak):
        pickle.dumps(receipt)
