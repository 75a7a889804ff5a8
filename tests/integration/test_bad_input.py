"""Everything that can be handed over wrong: a specific error with a sentence that says what to do, and nothing changes."""

from __future__ import annotations

import datetime
import io
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.models import Q
from django.db.models.signals import post_delete

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import Decorrelate, Disguise, Param, Remove, conf, errors
from edna.crypto.keys import PublicKey, SecretKey
from edna.crypto.sealing import open_sealed, seal
from edna.errors import BagCorrupt, ConstraintRefused, KeyMalformed, PrincipalError
from edna.models import Bag as StoredBag
from edna.models import PrincipalEntry
from edna.records.bag import Bag, BagKind, open_bag, seal_bag
from edna.records.diff import Removed
from edna.records.locator import Locator, Receipt, seal_locator
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    PASSWORD,
    Student,
    answer_everything,
    edna_dump,
    enrol,
    enrol_in_course,
    execute,
    flipped,
    know_server_keys,
    nothing_changes,
)

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", password=PASSWORD)


@pytest.fixture
def carl(bea: Student) -> Student:
    student = enrol("carl@example.org", password=PASSWORD)
    answer_everything(student)
    return student


def says_what_to_do(error: BaseException) -> bool:
    """A sentence: several words, an end, no traceback or representation of an object in it."""
    text = str(error)
    return len(text.split()) > 5 and "0x" not in text and "Traceback" not in text


class refused:
    """The block raises exactly this class of error, with a useful sentence, and changes nothing in any table."""

    def __init__(self, kind: type[Exception], match: str | None = None) -> None:
        self.unchanged = nothing_changes()
        self.raises = pytest.raises(kind, match=match)
        self.kind = kind

    def __enter__(self) -> None:
        self.unchanged.__enter__()
        self.caught = self.raises.__enter__()

    def __exit__(self, *exception: Any) -> bool:
        swallowed = bool(self.raises.__exit__(*exception))
        assert type(self.caught.value) is self.kind, repr(self.caught.value)
        assert says_what_to_do(self.caught.value), str(self.caught.value)
        self.unchanged.__exit__(None, None, None)
        return swallowed


# Disguising


@pytest.mark.once
def test_unknown_disguise(bea: Student) -> None:
    for call in (
        lambda: bea.disguise("websubmit.delete-acount"),
        lambda: edna.plan("websubmit.delete-acount", bea.user),
        lambda: edna.plan_all("websubmit.delete-acount"),
        lambda: edna.disguise_all("websubmit.delete-acount"),
    ):
        with refused(errors.UnknownDisguise, match="websubmit.delete-account"):
            call()


@pytest.mark.once
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"lecture": "1"},
        {"lecture": None},
        {"lecture": 1.0},
        {"lecture": True},
        {"lecture": [1]},
        {"lectures": 1},
        {"lecture": 1, "question": 2},
        {"lecture": 2**70},
        {"lecture": -(2**63) - 1},
    ],
    ids=str,
)
def test_missing_mistyped_and_surplus_parameters(bea: Student, params: dict[str, Any]) -> None:
    """Of one principal, of everybody, and of a dry run."""
    with refused(errors.InvalidParameters, match="lecture"):
        edna.disguise(ANONYMISE_LECTURE, bea.user, params=params)
    with refused(errors.InvalidParameters, match="lecture"):
        edna.disguise_all(ANONYMISE_LECTURE, params=params)
    with refused(errors.InvalidParameters, match="lecture"):
        edna.plan(ANONYMISE_LECTURE, bea.user, params=params)


@pytest.mark.once
def test_a_parameter_where_none_is_taken(bea: Student) -> None:
    with refused(errors.InvalidParameters, match="none"):
        bea.disguise(DELETE, lecture=1)


def test_text_parameters_reach_the_database_as_values(bea: Student) -> None:
    """Whatever the text, it is compared with, never run; text that the database cannot take is refused."""

    class ByText(Disguise):
        name = "test.by-text"
        params = {"text": str, "since": datetime.datetime}
        transformations = [
            Remove(Answer, owner="author", where=Q(text=Param("text"), submitted_at__gte=Param("since")))
        ]

    edna.register(ByText)
    long_ago = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
    try:
        for text in ("' OR 1=1 --", "%s", "__edna_owners__", "\\", "%(x)s", "\U0001f600"):
            Answer.objects.filter(author=bea.user).update(text="other")
            bea.reveal(bea.disguise("test.by-text", text=text, since=long_ago))
            assert Answer.objects.count() == 4
            Answer.objects.filter(pk=Answer.objects.first().pk).update(text=text)
            receipt = bea.disguise("test.by-text", text=text, since=long_ago)
            assert Answer.objects.count() == 3
            bea.reveal(receipt)
        with refused(errors.InvalidParameters, match="NUL"):
            bea.disguise("test.by-text", text="\0", since=long_ago)
    finally:
        edna.unregister(ByText)


@pytest.mark.once
def test_unregistered_principal(bea: Student) -> None:
    stranger = User.objects.create(email="stranger@example.org")
    with refused(errors.PrincipalNotRegistered, match="register_principal"):
        edna.disguise(DELETE, stranger)
    with refused(errors.PrincipalNotRegistered):
        edna.plan(DELETE, stranger)


@pytest.mark.once
def test_somebody_who_is_away_already(bea: Student) -> None:
    bea.disguise(DELETE)
    with refused(errors.PrincipalNotRegistered):
        bea.disguise(DELETE)


@pytest.mark.once
@pytest.mark.parametrize(
    "make", [lambda: User(email="x@example.org"), lambda: Lecture.objects.first()], ids=["unsaved", "no user"]
)
def test_what_is_no_principal(bea: Student, make: Any) -> None:
    for call in (
        lambda: edna.disguise(DELETE, make()),
        lambda: edna.register_principal(make()),
        lambda: edna.is_registered(make()),
    ):
        with refused(errors.PrincipalError):
            call()


@pytest.mark.once
@pytest.mark.parametrize("act", [edna.is_registered, edna.register_principal, lambda who: edna.disguise(DELETE, who)])
@pytest.mark.parametrize("who", [None, "bea@example.org", 7], ids=repr)
def test_a_name_or_a_key_instead_of_a_user(act: Any, who: Any) -> None:
    with refused(errors.PrincipalError):
        act(who)


def test_registered_twice(bea: Student) -> None:
    with refused(errors.PrincipalAlreadyRegistered):
        edna.register_principal(bea.user, password="another one")
    new = User.objects.create(email="new@example.org")
    with refused(errors.PrincipalAlreadyRegistered):
        edna.register_principals([new, bea.user])
    assert not edna.is_registered(new)


@pytest.mark.once
def test_a_public_key_of_somebody_else(bea: Student) -> None:
    new = User.objects.create(email="new@example.org")
    with refused(errors.PrincipalAlreadyRegistered):
        edna.register_principal(new, public_key=bea.secret_key.public_key)


@pytest.mark.once
@pytest.mark.parametrize("key", [b"", b"short", bytes(32), b"\x01" + bytes(31), b"x" * 33], ids=repr)
def test_a_malformed_public_key(bea: Student, key: bytes) -> None:
    """A point of small order protects nothing: refused when it is registered, not when data is sealed to it."""
    new = User.objects.create(email="new@example.org")
    with refused(errors.KeyMalformed):
        edna.register_principal(new, public_key=key)


@pytest.mark.once
@pytest.mark.parametrize(
    "key", [b"\x02" + bytes(30) + b"\x80", b"\xf0" + b"\xff" * 30 + b"\x7f"], ids=["top bit", "u > p"]
)
def test_another_spelling_of_a_public_key(bea: Student, key: bytes) -> None:
    """What is sealed to it would be lost."""
    new = User.objects.create(email="new@example.org")
    with refused(errors.KeyMalformed, match="nobody could open"):
        edna.register_principal(new, public_key=key)
    with bea.unlock() as unlocked, refused(errors.KeyMalformed, match="nobody could open"):
        edna.rotate(unlocked, public_key=key)


@pytest.mark.once
def test_an_entry_with_another_spelling_of_a_public_key(bea: Student) -> None:
    """Earlier releases took it. Nothing more is lost by it, and the entry is named."""
    own = bytes(bea.secret_key.public_key)
    entry = PrincipalEntry.objects.get(public_key=own)
    PrincipalEntry.objects.filter(pk=entry.pk).update(public_key=own[:31] + bytes((own[31] | 0x80,)))
    call_command("edna_vouch", "--entry", entry.pk, "--operator", "olga", stdout=io.StringIO())
    for refusing in (lambda: edna.disguise(DELETE, bea.user), lambda: edna.disguise_all(DELETE)):
        with refused(
            errors.KeyMalformed, match=rf"Entry {entry.pk} of websubmit\.user {bea.user.pk} .* top bit .* again"
        ):
            refusing()


@pytest.mark.once
def test_a_capability_of_somebody_else(bea: Student, carl: Student) -> None:
    with carl.unlock() as unlocked, refused(errors.NotYours):
        edna.disguise(DELETE, bea.user, unlocked=unlocked)
    with carl.unlock() as unlocked, refused(errors.NotYours):
        edna.plan(DELETE, bea.user, unlocked=unlocked)


@pytest.mark.once
def test_a_capability_that_was_closed(bea: Student) -> None:
    receipt = bea.disguise(ANONYMISE_ALL)
    with bea.unlock() as unlocked:
        pass
    for call in (
        lambda: edna.disguise(DELETE, bea.user, unlocked=unlocked),
        lambda: edna.reveal(receipt, unlocked),
        lambda: edna.history(unlocked),
        lambda: edna.speaks_for(unlocked),
        lambda: edna.speak_as(unlocked, Answer.objects.first()),
        lambda: edna.change_password(unlocked, identifier="bea@example.org", password="new"),
        lambda: edna.new_recovery_code(unlocked),
    ):
        with refused(errors.CapabilityClosed, match="unlock again"):
            call()


@pytest.mark.once
def test_speaking_as_somebody_else(bea: Student, carl: Student) -> None:
    """Neither for another's anonymised answer, nor for one's own that is not anonymised, nor for what nobody owns."""
    edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": Lecture.objects.first().pk})
    with carl.unlock() as theirs:
        voices = edna.speaks_for(theirs)
    foreign = Answer.objects.filter(author__in=voices).first()
    own = Answer.objects.filter(author=bea.user).first()
    with bea.unlock() as unlocked:
        for obj in (foreign, own, Question.objects.first()):
            with refused(errors.NotYours):
                edna.speak_as(unlocked, obj)


@pytest.mark.once
def test_a_specification_that_would_leave_rows_dangling(bea: Student) -> None:
    """Refused before anything happens, naming the field; also where a condition leaves rows out."""

    class Careless(Disguise):
        name = "test.careless"
        transformations = [Remove(User)]

    class Partial(Disguise):
        name = "test.partial"
        transformations = [Remove(Answer, owner="author", where=Q(text="x")), Remove(User)]

    for cls in (Careless, Partial):
        edna.register(cls)
        try:
            with refused(errors.DanglingReferences, match=r"websubmit\.Answer\.author"):
                bea.disguise(cls.name)
            with refused(errors.DanglingReferences):
                edna.plan(cls.name, bea.user)
            with refused(errors.DanglingReferences):
                edna.disguise_all(cls.name)
        finally:
            edna.unregister(cls)


@pytest.mark.once
def test_a_specification_that_leads_to_no_principal(bea: Student) -> None:
    class Lost(Disguise):
        name = "test.lost"
        transformations = [Decorrelate(Answer, owner="question")]

    edna.register(Lost)
    try:
        with refused(errors.SpecError, match="Question"):
            bea.disguise("test.lost")
    finally:
        edna.unregister(Lost)


# Credentials


@pytest.mark.once
@pytest.mark.parametrize(
    "given",
    [
        {"identifier": "bea@example.org", "password": PASSWORD + "x"},
        {"identifier": "bea@example.org", "password": ""},
        {"identifier": "nobody@example.org", "password": PASSWORD},
        {"identifier": "", "password": PASSWORD},
        {"recovery_code": "the code of somebody"},
        {"identifier": "bea\udc80@example.org", "password": "\udcff\0"},
    ],
    ids=["password", "empty password", "person", "no person", "another code", "surrogates"],
)
def test_wrong_credentials_do_not_say_which_part_is_wrong(bea: Student, given: dict[str, Any]) -> None:
    """The same sentence for a wrong password and for somebody who was never here."""
    if "recovery_code" in given:
        given = {"recovery_code": str(edna.RecoveryCode.new())}
    with refused(errors.WrongCredentials):
        edna.unlock(**given)


@pytest.mark.once
def test_one_sentence_for_every_wrong_password(bea: Student) -> None:
    messages = set()
    for identifier in ("bea@example.org", "nobody@example.org"):
        with pytest.raises(errors.WrongCredentials) as caught:
            edna.unlock(identifier=identifier, password="wrong")
        messages.add(str(caught.value))
    assert len(messages) == 1


@pytest.mark.once
@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: c[:-1],
        lambda c: c + "A",
        lambda c: "Z" + c[1:] if c[0] != "Z" else "Y" + c[1:],
        lambda c: "",
        lambda c: "!" * 28,
    ],
)
def test_a_mistyped_recovery_code(bea: Student, spoil: Any) -> None:
    """Told apart from a wrong one without asking the database."""
    with refused(errors.RecoveryCodeMalformed):
        edna.unlock(recovery_code=spoil(bea.recovery_code))


@pytest.mark.once
def test_a_key_of_nobody(bea: Student) -> None:
    with refused(errors.PrincipalNotRegistered):
        edna.unlock(secret_key=SecretKey.generate())


@pytest.mark.once
def test_a_mistyped_secret_key(bea: Student) -> None:
    text = bea.secret_key.expose_text()
    for wrong in (text[:-1], text[:-1] + ("a" if text[-1] != "a" else "b"), text.partition(":")[2], "", "x"):
        with refused(errors.KeyMalformed):
            edna.SecretKey.parse(wrong)


@pytest.mark.once
@pytest.mark.parametrize("given", [{}, {"identifier": "x"}, {"password": "x"}, {"password": "x", "recovery_code": "y"}])
def test_not_exactly_one_way_in(bea: Student, given: dict[str, Any]) -> None:
    """A mistake of the programmer, not of the person."""
    with nothing_changes(), pytest.raises(TypeError, match="unlock"):
        edna.unlock(**given)


# Receipts


@pytest.mark.once
def test_a_truncated_or_mistyped_receipt(bea: Student) -> None:
    receipt = str(bea.disguise(DELETE))
    wrong = [receipt[:length] for length in (0, 5, 6, 20, len(receipt) - 1)]
    wrong += [receipt + "a", receipt[:-1] + ("a" if receipt[-1] != "a" else "b"), receipt.replace("edna1", "edna2")]
    wrong += [receipt.replace("delete-account", "delete-acount"), "hello", "edna1::", "edna1:x:\u00e4"]
    with bea.unlock() as unlocked:
        for text in wrong:
            with refused(errors.ReceiptMalformed):
                edna.reveal(text, unlocked)
    with refused(errors.ReceiptMalformed):
        bea.unlock(receipts=[receipt[:-1]])


@pytest.mark.once
@pytest.mark.parametrize("receipt", [None, b"edna1:", 7], ids=repr)
def test_what_is_no_receipt(bea: Student, receipt: Any) -> None:
    with bea.unlock() as unlocked, refused(errors.ReceiptMalformed):
        edna.reveal(receipt, unlocked)


@pytest.mark.once
def test_a_receipt_of_somebody_else(bea: Student, carl: Student) -> None:
    theirs = carl.disguise(DELETE)
    with bea.unlock() as unlocked, refused(errors.ReceiptForeign):
        edna.reveal(theirs, unlocked)
    # Not even together with the claim that it is one's own.
    with bea.unlock(receipts=[theirs]) as unlocked, refused(errors.ReceiptForeign):
        edna.reveal(theirs, unlocked)
    with bea.unlock(receipts=[theirs]) as unlocked, refused(errors.ReceiptForeign):
        edna.history(unlocked)
    assert carl.reveal(theirs).complete


@pytest.mark.once
def test_a_receipt_used_twice(bea: Student) -> None:
    receipt = bea.disguise(DELETE)
    bea.reveal(receipt)
    with bea.unlock() as unlocked, refused(errors.ReceiptUnknown, match="revealed already"):
        edna.reveal(receipt, unlocked)


@pytest.mark.once
def test_a_receipt_of_another_site(bea: Student) -> None:
    with bea.unlock() as unlocked, refused(errors.ReceiptUnknown):
        edna.reveal(Receipt(DELETE, Locator.new()), unlocked)


@pytest.mark.once
def test_a_receipt_that_names_another_disguise(bea: Student) -> None:
    """Its checksum is right, because somebody made it so; what the bag says counts."""
    receipt = bea.disguise(DELETE)
    with bea.unlock() as unlocked, refused(errors.ReceiptMalformed):
        edna.reveal(Receipt(ANONYMISE_ALL, receipt.locator), unlocked)


# Bags that somebody has written to


def bag_rows() -> dict[bytes, bytes]:
    name = connection.ops.quote_name("index")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {name}, sealed FROM edna_bag")
        return {bytes(index): bytes(sealed) for index, sealed in cursor.fetchall()}


def put(index: bytes, sealed: bytes) -> None:
    name = connection.ops.quote_name("index")
    mark = "_binary %s" if connection.vendor == "mysql" else "%s"
    assert execute(f"UPDATE edna_bag SET sealed = {mark} WHERE {name} = {mark}", [sealed, index]) == 1


#: Where the regions of a container with one stanza begin (docs/format.md), and what a flipped bit there raises. A stanza
KINDS = (BagKind.DIFF, BagKind.SPEAKS_FOR)

#: that does not open is no different from somebody else's.
REGIONS = {
    "version": (0, errors.BagVersionUnknown),
    "suite": (1, errors.BagSuiteUnknown),
    "stanza count": (2, errors.BagCorrupt),
    "body length": (6, (errors.BagTruncated, errors.BagTrailingBytes)),
    "stanza type": (7, errors.BagSuiteUnknown),
    "stanza length": (9, errors.BagCorrupt),
    "stanza": (10, errors.ReceiptForeign),
    "end of stanza": (89, errors.ReceiptForeign),
    "nonce": (90, errors.BagCorrupt),
    "ciphertext": (114, errors.BagCorrupt),
    "tag": (-1, errors.BagCorrupt),
}


@first_everywhere("region", REGIONS)
@pytest.mark.usefixtures("of_x25519")
def test_a_tampered_bag(bea: Student, region: str) -> None:
    """Every region of the stored bytes: refused as a whole, kept as evidence, and fine again once it is put right."""
    position, expected = REGIONS[region]
    before = application_dump()
    receipt = bea.disguise(DELETE)
    [(index, sealed)] = bag_rows().items()
    put(index, flipped(sealed, position % len(sealed)))
    with bea.unlock() as unlocked, nothing_changes(), pytest.raises(expected) as caught:
        edna.reveal(receipt, unlocked)
    assert says_what_to_do(caught.value)
    with bea.unlock() as unlocked, nothing_changes():
        assert edna.history(unlocked) == []
        [damage] = unlocked.damaged
        assert isinstance(damage, errors.WrongKey if expected is errors.ReceiptForeign else expected)
    put(index, sealed)
    assert bea.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.once
@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda sealed: sealed[:-1], errors.BagTruncated),
        (lambda sealed: sealed[:50], errors.BagTruncated),
        (lambda sealed: b"", errors.BagTruncated),
        (lambda sealed: sealed + b"\0", errors.BagTrailingBytes),
    ],
    ids=["last byte", "inside the stanza", "everything", "one byte more"],
)
def test_a_bag_that_was_cut_or_padded(bea: Student, spoil: Any, expected: type[Exception]) -> None:
    receipt = bea.disguise(DELETE)
    [(index, sealed)] = bag_rows().items()
    put(index, spoil(sealed))
    with bea.unlock() as unlocked, refused(expected):
        edna.reveal(receipt, unlocked)


@pytest.mark.once
def test_bags_swapped_between_two_people(bea: Student, carl: Student) -> None:
    first, second = bea.disguise(DELETE), carl.disguise(DELETE)
    (one, mine), (two, theirs) = bag_rows().items()
    put(one, theirs)
    put(two, mine)
    for student, receipt in ((bea, first), (carl, second)):
        with (
            student.unlock() as unlocked,
            nothing_changes(),
            pytest.raises((errors.ReceiptForeign, errors.BagMisplaced)),
        ):
            edna.reveal(receipt, unlocked)
    put(one, mine)
    put(two, theirs)
    assert bea.reveal(first).complete
    assert carl.reveal(second).complete


@pytest.mark.once
def test_bags_swapped_between_two_disguises_of_one_person(bea: Student) -> None:
    """Both open with the key, but each knows its place."""
    one, two = Lecture.objects.all()
    first = bea.disguise(ANONYMISE_LECTURE, lecture=one.pk)
    second = bea.disguise(ANONYMISE_LECTURE, lecture=two.pk)
    bags = bag_rows()
    for kind in KINDS:
        put(first.locator.index(kind, 0), bags[second.locator.index(kind, 0)])
        put(second.locator.index(kind, 0), bags[first.locator.index(kind, 0)])
    for receipt in (first, second):
        with bea.unlock() as unlocked, refused(errors.BagMisplaced):
            edna.reveal(receipt, unlocked)


@pytest.mark.once
def test_a_bag_of_the_other_kind(bea: Student) -> None:
    receipt = bea.disguise(ANONYMISE_ALL)
    diff, voices = (receipt.locator.index(kind, 0) for kind in KINDS)
    bags = bag_rows()
    put(diff, bags[voices])
    put(voices, bags[diff])
    with bea.unlock() as unlocked, refused(errors.BagMisplaced):
        edna.reveal(receipt, unlocked)


def test_a_bag_that_is_put_back_after_its_reveal(bea: Student) -> None:
    """Replay: what was revealed and then deleted by its owner must not come back by the hand of somebody else."""
    receipt = bea.disguise(DELETE)
    name = connection.ops.quote_name("index")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, {name}, sealed, expires_on FROM edna_bag")
        [row] = cursor.fetchall()
    bea.reveal(receipt)
    Answer.objects.filter(author=bea.user).delete()
    marks = ["%s", *["_binary %s" if connection.vendor == "mysql" else "%s"] * 2, "%s"]
    execute(f"INSERT INTO edna_bag (id, {name}, sealed, expires_on) VALUES ({', '.join(marks)})", row)
    with bea.unlock() as unlocked, refused(errors.BagMisplaced, match="put back"):
        edna.reveal(receipt, unlocked)
    with bea.unlock(receipts=[receipt]) as unlocked, refused(errors.BagMisplaced):
        edna.reveal(receipt, unlocked)


def forged(receipt: Receipt, student: Student) -> Bag:
    """A bag like those of the server, with a row that gives its owner a second account."""
    user = User.objects.create(email="template@example.org")
    columns = tuple(field.name for field in User._meta.concrete_fields)
    row = {"id": 999_999, "password": "!", "last_login": None, "email": "evil@example.org", "apikey": "k"}
    row |= {"is_admin": True, "is_anon": False, "is_active": True, "joined_on": None}
    user.delete()
    batch = Removed("websubmit.user", "0001_initial", ("id",), columns, [[row[c] for c in columns]])
    return Bag(
        kind=BagKind.DIFF,
        disguise=receipt.disguise,
        applied_at=datetime.datetime.now(datetime.UTC),
        principal_model="websubmit.user",
        principal=str(student.user.pk),
        params={},
        database=connection.vendor,
        listed=True,
        segments=(1, 0),
        batches=(batch,),
    )


def sealed_by(bag: Bag, receipt: Receipt, public_key: PublicKey, mac_key: bytes) -> bytes:
    made = seal_bag(bag, locator=receipt.locator, sequence=0, public_key=public_key, mac_key=mac_key, compress=False)
    return made.sealed


@pytest.mark.once
def test_a_bag_forged_by_somebody_who_knows_the_public_key(bea: Student) -> None:
    """Anybody can seal to a public key, and here even knows the locator; without the server's MAC key it is refused."""
    receipt = bea.disguise(DELETE)
    [index] = bag_rows()
    bag = forged(receipt, bea)
    put(index, sealed_by(bag, receipt, bea.secret_key.public_key, b"a guess of the attacker's"))
    with bea.unlock() as unlocked, refused(errors.BagForged, match="MAC_KEYS"):
        edna.reveal(receipt, unlocked)
    assert not User.objects.filter(email="evil@example.org").exists()
    # The same bag with the right key would have been believed: the test forges well.
    put(index, sealed_by(bag, receipt, bea.secret_key.public_key, conf.mac_keys()[0]))
    assert bea.reveal(receipt).complete
    assert User.objects.filter(email="evil@example.org").exists()


@pytest.mark.once
def test_a_genuine_bag_edited_by_its_owner(bea: Student) -> None:
    """The owner can open and seal again, but not sign: their own row stays as the server saw it."""
    receipt = bea.disguise(DELETE)
    [(index, sealed)] = bag_rows().items()
    bag = open_bag(
        sealed,
        locator=receipt.locator,
        kind=BagKind.DIFF,
        sequence=0,
        secret_key=bea.secret_key,
        mac_keys=conf.mac_keys(),
    )
    put(index, sealed_by(bag, receipt, bea.secret_key.public_key, b"not the server's key"))
    with bea.unlock() as unlocked, refused(errors.BagForged):
        edna.reveal(receipt, unlocked)


@pytest.mark.once
def test_a_bag_handed_to_somebody_else(bea: Student, carl: Student) -> None:
    """Carl opens nothing of Bea's, even if she seals her plaintext to him herself: the MAC names the owner's key."""
    receipt = bea.disguise(DELETE)
    [(index, sealed)] = bag_rows().items()
    content = open_sealed(sealed, secret_key=bea.secret_key)
    put(index, seal(content, recipients=(carl.secret_key.public_key,)))
    with carl.unlock() as unlocked, refused(errors.BagForged):
        edna.reveal(receipt, unlocked)


@pytest.mark.usefixtures("of_x25519")
def test_a_locator_that_somebody_put_into_the_list_harms_nobody(bea: Student) -> None:
    """Anybody can seal a locator to a public key; one that leads nowhere is passed over, garbage too."""
    receipt = bea.disguise(DELETE)
    entry = bytes(bea.secret_key.public_key)
    mark = "_binary %s" if connection.vendor == "mysql" else "%s"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT locators FROM edna_principalentry WHERE public_key = {mark}", [entry])
        [(genuine,)] = cursor.fetchall()
    planted = seal_locator(Locator.new(), recipient=bea.secret_key.public_key)
    execute(
        f"UPDATE edna_principalentry SET locators = {mark} WHERE public_key = {mark}",
        [planted + bytes(80) + bytes(genuine) + b"short", entry],
    )
    assert [found.receipt for found in bea.history()] == [receipt]
    assert bea.reveal(receipt).complete


@pytest.mark.once
def test_the_mac_keys_can_be_rotated_and_not_lost(bea: Student, settings: Any) -> None:
    """A new key in front: old bags open. The old key gone: a clear refusal, until it is put back."""
    receipt = bea.disguise(DELETE)
    old = settings.EDNA["MAC_KEYS"]
    know_server_keys("a new key of many characters")
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a new key of many characters"]}
    with bea.unlock() as unlocked, refused(errors.BagForged, match="MAC_KEYS"):
        edna.reveal(receipt, unlocked)
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["a new key of many characters", *old]}
    assert bea.reveal(receipt).complete
    with edna.unlock(identifier=bea.email, password=PASSWORD) as unlocked:
        assert edna.history(unlocked) == []


def test_overrides_that_do_not_fit_are_refused_or_held(bea: Student) -> None:
    """A replacement must be a value that the column takes."""
    receipt = bea.disguise(DELETE)
    User.objects.create(email=bea.email)
    before, tables = application_dump(), edna_dump()
    for value in (None, "x" * 300, "nul\0byte"):
        try:
            outcome = bea.reveal(receipt, overrides={"websubmit.user.email": value}, allow_partial=False)
        except errors.EdnaError:
            assert application_dump() == before
            assert edna_dump() == tables
        else:
            # SQLite takes text of any length, and MariaDB a NUL.
            assert outcome.complete
            assert connection.vendor in ("sqlite", "mysql")
            assert value is not None
            receipt = bea.disguise(DELETE)
            before, tables = application_dump(), edna_dump()


# What was found by trying to break it


@pytest.mark.once
@pytest.mark.parametrize(
    "name", ["email", "websubmit.user.mail", "nosuch.user.email", "", "websubmit.user", "auth.user.username"]
)
def test_overrides_of_no_column_are_refused(bea: Student, name: str) -> None:
    """Passed over, they would look as if the value that they give were taken, too."""
    receipt = edna.disguise(DELETE, bea.user)
    with bea.unlock() as unlocked, refused(errors.InvalidParameters):
        edna.reveal(receipt, unlocked, overrides={name: "b@example.org"})
    assert bea.reveal(receipt).complete


def test_somebody_removed_cannot_be_registered_over_the_way_back(bea: Student) -> None:
    """The instance is still at hand after its row has gone: a second key for it would block the first one's return."""
    before = application_dump()
    receipt = bea.disguise()
    for register in (edna.register_principal, lambda user: edna.register_principals([user])):
        with pytest.raises(PrincipalError, match="reveal that instead"):
            register(bea.user)
    with pytest.raises(PrincipalError, match="has no row"):
        edna.register_principal(User(pk=77_777, email="nobody@example.org"))
    assert bea.reveal(receipt).complete
    assert application_dump() == before


def test_a_left_over_entry_does_not_block_a_return(bea: Student) -> None:
    """Somebody was given the removed key and row number, and deleted again by the application, without edna."""
    before = application_dump()
    receipt = bea.disguise()
    usurper = User.objects.create(pk=bea.user.pk, email="usurper@example.org")
    edna.register_principal(usurper)
    execute("DELETE FROM websubmit_user WHERE id = %s", [bea.user.pk])

    assert bea.reveal(receipt).complete

    assert application_dump() == before
    assert bea.disguise()


@pytest.mark.django_db(transaction=True)
def test_a_foreign_key_that_no_model_describes(bea: Student) -> None:
    """The database refuses; its words, which may quote values, are not passed on."""
    kind = "bigint" if connection.vendor != "sqlite" else "integer"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE legacy (student {kind} NOT NULL REFERENCES websubmit_user (id))")
        if connection.vendor == "mysql":
            cursor.execute("ALTER TABLE legacy ADD FOREIGN KEY (student) REFERENCES websubmit_user (id)")
        cursor.execute("INSERT INTO legacy VALUES (%s)", [bea.user.pk])
    try:
        with refused(ConstraintRefused):
            bea.disguise()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE legacy")


@pytest.mark.once
def test_one_damaged_bag_does_not_keep_the_others_shut(bea: Student) -> None:
    """It is left out of the history, said in ``damaged``, raised by its own receipt; a disguise that would miss data refuses."""
    first = bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    second = bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[1].pk)
    for kind in KINDS:
        spoiled = StoredBag.objects.get(index=first.locator.index(kind, 0))
        last = spoiled.sealed[-1]
        StoredBag.objects.filter(pk=spoiled.pk).update(sealed=bytes(spoiled.sealed)[:-1] + bytes([last ^ 1]))

    with bea.unlock() as unlocked:
        assert [entry.receipt for entry in edna.history(unlocked)] == [second]
        assert {type(error) for error in unlocked.damaged} == {BagCorrupt}
        with pytest.raises(BagCorrupt):
            edna.disguise(DELETE, bea.user, unlocked=unlocked)
        with pytest.raises(BagCorrupt):
            edna.reveal(first, unlocked)
        assert edna.reveal(second, unlocked).complete


@pytest.mark.once
def test_a_secret_key_as_text(bea: Student) -> None:
    with edna.unlock(secret_key=bea.secret_key.expose_text()) as unlocked:
        assert unlocked.secret_key == bea.secret_key
    with pytest.raises(KeyMalformed):
        edna.unlock(secret_key="edna-secret-key-1:abc")


@pytest.mark.once
def test_in_client_mode_a_later_disguise_of_a_pseudoprincipal_keeps_its_key(bea: Student, settings: Any) -> None:
    """The pseudoprincipal's own bag is listed for it, and becomes its owner's when it goes, wherever locators are kept."""
    settings.EDNA = settings.EDNA | {"LOCATORS": "client"}
    before = application_dump()
    [first] = edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": Lecture.objects.order_by("pk")[0].pk})
    [second] = edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": Lecture.objects.order_by("pk")[0].pk})
    with bea.unlock(receipts=[first]) as unlocked:
        outcome = edna.reveal(first, unlocked)
        assert (outcome.restored, outcome.deferred, outcome.held) == ({}, {"websubmit.answer": 2}, [])
    with bea.unlock() as unlocked:
        assert edna.reveal(second, unlocked).complete
    assert application_dump() == before


def test_a_capability_is_told_from_an_override(bea: Student) -> None:
    """An override is a way round a collision, not a way to come back as somebody else, or as staff."""
    receipt = bea.disguise()
    User.objects.create(email="bea@example.org")
    overrides = {"websubmit.user.email": "b@example.org", "websubmit.user.is_admin": True, "websubmit.answer.author": 1}
    for wrong in ("no address", "\udc80@example.org", 7, None):
        with refused(errors.InvalidParameters):
            bea.reveal(receipt, overrides={"websubmit.user.email": wrong})
    assert bea.reveal(receipt, overrides=overrides).complete
    back = User.objects.get(email="b@example.org")
    assert (back.pk, back.is_admin) == (bea.user.pk, False)
    assert not Answer.objects.exclude(author=back).exists()


@pytest.mark.once
def test_deletions_of_other_models_stay_as_fast_as_they_were() -> None:
    """Django deletes without loading rows only where nobody listens: edna listens to principals alone."""
    assert post_delete.has_listeners(User)
    assert not post_delete.has_listeners(Answer)
    assert not post_delete.has_listeners(Lecture)


@pytest.mark.once
def test_somebody_deleted_by_the_application_leaves_no_entry_behind(bea: Student) -> None:
    """Whoever gets the same primary key later has no key, rather than somebody else's."""
    key = bea.user.pk
    bea.user.delete()
    newcomer = User.objects.create(pk=key, email="new@example.org")
    assert not edna.is_registered(newcomer)
    edna.register_principal(newcomer)


@pytest.mark.once
@pytest.mark.parametrize("given", [None, "a password", b"secret"], ids=lambda given: type(given).__name__)
def test_a_reveal_with_something_else_than_a_capability(bea: Student, given: Any) -> None:
    receipt = bea.disguise(DELETE)
    with (
        nothing_changes(),
        pytest.raises(PrincipalError, match=rf"what edna.unlock\(\) returns.*{type(given).__name__}"),
    ):
        edna.reveal(receipt, given)
