"""Speaking as a pseudoprincipal: exactly the rows that pseudoprincipals of this key own, as the disguises say it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Manager

import edna
from edna import signals
from edna.engine.bags import ownership
from edna.errors import CapabilityClosed, NotYours, SpecError
from edna.testing import Person, application_dump
from tests.installed import installed, registered
from tests.support import statements

DESK = "tests.integration.desk"
NAME = "test.at-the-desk"


@pytest.fixture(scope="module")
def desk_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), installed(DESK, principals=["desk.writer"]) as models:
        yield models


@pytest.fixture
def desk(desk_tables: Any, db: None) -> Iterator[Any]:
    with registered(DESK):
        yield desk_tables


@pytest.fixture
def bea(desk: Any) -> Person:
    return writer(desk, "bea")


@pytest.fixture
def carl(desk: Any) -> Person:
    return writer(desk, "carl")


def writer(desk: Any, pen_name: str) -> Person:
    made = desk.Writer.objects.create(pen_name=pen_name)
    return Person(made, edna.register_principal(made, identifier=pen_name).secret_key)


def voice(person: Person, obj: Any, **kwargs: Any) -> Any:
    """The primary key of the one that ``person`` may speak as for ``obj``; None if nobody."""
    with person.unlock() as unlocked:
        try:
            found = edna.speak_as(unlocked, obj, **kwargs)
        except NotYours:
            return None
        assert found.pk in edna.speaks_for(unlocked)
        return found.pk


class TestOwners:
    @pytest.mark.once
    def test_of_two_owners_it_is_the_one_that_is_theirs(self, desk: Any, bea: Person, carl: Person) -> None:
        letter = desk.Letter.objects.create(author=bea.user, recipient=carl.user)
        assert (voice(bea, letter), voice(carl, letter)) == (None, None)
        bea.disguise("desk.unsign")
        letter.refresh_from_db()
        assert (voice(bea, letter), voice(carl, letter)) == (letter.author_id, None)
        carl.disguise("desk.unsign")
        letter.refresh_from_db()
        assert (voice(bea, letter), voice(carl, letter)) == (letter.author_id, letter.recipient_id)

    @pytest.mark.once
    def test_a_letter_to_oneself_is_spoken_for_by_the_first_owner(self, desk: Any, bea: Person) -> None:
        letter = desk.Letter.objects.create(author=bea.user, recipient=bea.user)
        bea.disguise("desk.unsign")
        letter.refresh_from_db()
        assert letter.author_id != letter.recipient_id
        assert voice(bea, letter) == letter.author_id
        assert voice(bea, letter, owner="recipient") == letter.recipient_id

    @pytest.mark.once
    def test_a_mention_makes_nobody_an_owner(self, desk: Any, bea: Person, carl: Person) -> None:
        """The column refers to a principal, and no disguise calls it an owner."""
        own = desk.Letter.objects.create(author=bea.user)
        bea.disguise("desk.unsign")
        own.refresh_from_db()
        others = desk.Letter.objects.create(author=carl.user, censor=own.author)
        assert voice(bea, others) is None
        assert voice(bea, own) == own.author_id

    @pytest.mark.once
    def test_null_and_nobody(self, desk: Any, bea: Person) -> None:
        letter = desk.Letter.objects.create(author=bea.user)
        shelf = desk.Shelf.objects.create(label="a")
        bea.disguise("desk.unsign")
        assert voice(bea, letter, owner="recipient") is None
        assert voice(bea, shelf) is None

    def test_along_a_path(self, desk: Any, bea: Person, carl: Person) -> None:
        letter = desk.Letter.objects.create(author=bea.user)
        stamp = desk.Stamp.objects.create(letter=letter)
        bea.disguise("desk.unsign")
        letter.refresh_from_db()
        assert (voice(bea, stamp), voice(carl, stamp)) == (letter.author_id, None)

    def test_by_another_column_within_the_key_and_in_a_parents_table(
        self, desk: Any, bea: Person, carl: Person
    ) -> None:
        draft = desk.Draft.objects.create(writer=bea.user)
        page = desk.Page.objects.create(writer=bea.user, number=7)
        essay = desk.Essay.objects.create(owner=bea.user, title="On disguise")
        receipt = bea.disguise("desk.publish")
        draft.refresh_from_db()
        assert voice(bea, draft) == draft.writer.pk
        [page] = desk.Page.objects.all()
        assert voice(bea, page) == page.writer_id
        essay.refresh_from_db()
        assert voice(bea, essay) == essay.owner_id
        assert voice(bea, desk.Paper.objects.get()) == essay.owner_id
        for obj in (draft, page, essay):
            assert voice(carl, obj) is None
        assert bea.reveal(receipt).complete
        for obj in (desk.Draft.objects.get(), desk.Page.objects.get(), desk.Essay.objects.get()):
            assert voice(bea, obj) is None

    @pytest.mark.once
    def test_without_a_word_of_any_disguise(self, desk: Any, bea: Person) -> None:
        """The only foreign key to a principal counts; of two, the caller has to say which."""
        letter = desk.Letter.objects.create(author=bea.user)
        bea.disguise("desk.unsign")
        letter.refresh_from_db()
        bookmark = desk.Bookmark.objects.create(writer=letter.author)
        duel = desk.Duel.objects.create(first=letter.author, second=bea.user)
        assert voice(bea, bookmark) == letter.author_id
        assert voice(bea, duel) is None
        assert voice(bea, duel, owner="first") == letter.author_id
        assert voice(bea, duel, owner="second") is None

    @pytest.mark.once
    @pytest.mark.parametrize("owner", ["text", "nothing", "author__nothing", ""])
    def test_an_owner_that_is_no_path(self, desk: Any, bea: Person, owner: str) -> None:
        letter = desk.Letter.objects.create(author=bea.user)
        bea.disguise("desk.unsign")
        with pytest.raises(SpecError, match="no path"):
            voice(bea, letter, owner=owner)

    @pytest.mark.once
    def test_a_pseudoprincipal_speaks_for_its_own_row(self, desk: Any, bea: Person, carl: Person) -> None:
        letter = desk.Letter.objects.create(author=bea.user)
        bea.disguise("desk.unsign")
        letter.refresh_from_db()
        assert (voice(bea, letter.author), voice(carl, letter.author)) == (letter.author_id, None)
        assert voice(bea, bea.user) is None
        assert voice(bea, carl.user) is None


class TestRights:
    @pytest.mark.once
    def test_another_persons_pseudoprincipal(self, desk: Any, bea: Person, carl: Person) -> None:
        letters = [desk.Letter.objects.create(author=each.user) for each in (bea, carl)]
        edna.disguise_all("desk.unsign")
        for letter in letters:
            letter.refresh_from_db()
        assert [voice(bea, letter) for letter in letters] == [letters[0].author_id, None]
        assert [voice(carl, letter) for letter in letters] == [None, letters[1].author_id]

    @pytest.mark.once
    def test_the_row_decides_not_the_object(self, desk: Any, bea: Person, carl: Person) -> None:
        """Whoever can set an attribute of the object does not own the row."""
        mine, theirs = (desk.Letter.objects.create(author=each.user) for each in (bea, carl))
        edna.disguise_all("desk.unsign")
        mine.refresh_from_db()
        theirs.author_id = mine.author_id
        assert voice(bea, theirs) is None
        mine.author_id = carl.user.pk
        assert voice(bea, mine) is not None
        assert voice(bea, desk.Letter(author_id=voice(bea, mine))) is None
        gone = desk.Letter.objects.get(pk=mine.pk)
        desk.Letter.objects.filter(pk=mine.pk).delete()
        assert voice(bea, gone) is None

    @pytest.mark.once
    def test_the_query_for_the_owner_of_a_row_is_built_once(
        self, desk: Any, bea: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Building it takes several times as long as asking it."""
        letters = [desk.Letter.objects.create(author=bea.user) for _ in range(2)]
        bea.disguise("desk.unsign")
        first = voice(bea, letters[0])
        built: list[Any] = []
        build = ownership._query_of_holders
        monkeypatch.setattr(
            ownership, "_query_of_holders", lambda *args, **kwargs: built.append(args) or build(*args, **kwargs)
        )
        second = voice(bea, letters[1])
        assert None not in (first, second)
        assert first != second
        assert built == []

    @pytest.mark.once
    def test_a_manager_that_adds_something_is_asked_each_time(
        self, desk: Any, bea: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whom it shows may depend on more than the key: on the tenant, say, of the request."""
        letter = desk.Letter.objects.create(author=bea.user)
        bea.disguise("desk.unsign")
        shown: list[bool] = [False]

        class OfTheTenant(Manager[Any]):
            def get_queryset(self) -> Any:
                rows = super().get_queryset()
                return rows if shown[0] else rows.none()

        manager = OfTheTenant()
        manager.model = desk.Writer
        monkeypatch.setitem(desk.Writer._meta.__dict__, "base_manager", manager)
        ownership._sql_of_holders.cache_clear()
        try:
            hidden = voice(bea, letter)
            shown[0] = True
            assert hidden is None
            assert voice(bea, letter) is not None
        finally:
            ownership._sql_of_holders.cache_clear()

    @pytest.mark.once
    def test_at_any_depth(self, desk: Any, bea: Person, carl: Person) -> None:
        letter = desk.Letter.objects.create(author=bea.user)
        for _ in range(3):
            edna.disguise_all("desk.unsign")
        letter.refresh_from_db()
        assert (voice(bea, letter), voice(carl, letter)) == (letter.author_id, None)

    @pytest.mark.once
    def test_a_pseudoprincipal_that_is_gone(self, desk: Any, bea: Person) -> None:
        letter = desk.Letter.objects.create(author=bea.user)
        edna.on_reveal(NAME)(nothing_to_do)
        bea.disguise("desk.unsign")
        letter.refresh_from_db()
        with bea.unlock() as unlocked:
            with edna.session(bea.user, NAME, unlocked=unlocked) as s:
                s.remove(letter.author, letter)
            assert edna.speaks_for(unlocked) == []
            with pytest.raises(NotYours):
                edna.speak_as(unlocked, letter)
            assert edna.reveal(s.receipt, unlocked).complete
            assert edna.speak_as(unlocked, letter).pk == letter.author_id
        edna.unregister(nothing_to_do)

    @pytest.mark.only_on("sqlite3")  # the others look at references at once
    def test_a_pseudoprincipal_that_goes_at_that_moment(self, desk: Any, bea: Person) -> None:
        """By a reveal of the same person, in another tab: its key was found, and its row is not there any more."""
        letter = desk.Letter.objects.create(author=bea.user)
        bea.disguise("desk.unsign")
        letter.refresh_from_db()
        with bea.unlock() as unlocked, transaction.atomic():
            assert edna.speaks_for(unlocked) == [letter.author_id]
            table = desk.Writer._meta.db_table
            with connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {table} WHERE id = %s", [letter.author_id])
            with pytest.raises(NotYours):
                edna.speak_as(unlocked, letter)
            transaction.set_rollback(True)

    @pytest.mark.once
    def test_after_the_capability_is_closed(self, desk: Any, bea: Person) -> None:
        letter = desk.Letter.objects.create(author=bea.user)
        bea.disguise("desk.unsign")
        with bea.unlock() as unlocked:
            pass
        with pytest.raises(CapabilityClosed):
            edna.speak_as(unlocked, letter)

    @pytest.mark.once
    def test_after_a_rotation(self, desk: Any, bea: Person) -> None:
        if not hasattr(edna, "rotate"):
            pytest.skip("keys cannot be rotated yet")
        letter = desk.Letter.objects.create(author=bea.user)
        bea.disguise("desk.unsign")
        letter.refresh_from_db()
        with bea.unlock() as unlocked:
            rotated = edna.rotate(unlocked)
        with edna.unlock(secret_key=rotated.secret_key) as unlocked:
            assert edna.speak_as(unlocked, letter).pk == letter.author_id

    def test_statements_do_not_depend_on_how_many_are_spoken_for(self, desk: Any) -> None:
        sent = []
        for number in (3, 60):
            person = writer(desk, f"writer {number}")
            desk.Letter.objects.bulk_create(desk.Letter(author=person.user) for _ in range(number))
            person.disguise("desk.unsign")
            letter = desk.Letter.objects.order_by("pk").last()
            with person.unlock() as unlocked:
                sent.append(len(statements(lambda unlocked=unlocked, letter=letter: edna.speak_as(unlocked, letter))))
        assert sent[0] == sent[1]


def nothing_to_do(revealed: edna.Revealed) -> None:
    """A session without blobs."""


class TestSessions:
    """What `edna.session` does with such owners."""

    @pytest.fixture(autouse=True)
    def named(self) -> Iterator[None]:
        edna.on_reveal(NAME)(nothing_to_do)
        yield
        edna.unregister(nothing_to_do)

    def test_owners_of_every_kind(self, desk: Any, bea: Person, carl: Person) -> None:
        draft = desk.Draft.objects.create(writer=bea.user)
        page = desk.Page.objects.create(writer=bea.user, number=7)
        essay = desk.Essay.objects.create(owner=bea.user, title="On disguise", text="It is")
        letter = desk.Letter.objects.create(author=bea.user, recipient=bea.user, censor=carl.user)
        before = application_dump()
        with edna.session(bea.user, NAME) as s:
            s.decorrelate(letter, "author", "recipient")
            s.decorrelate([draft], "writer")
            s.decorrelate(page, "writer")
            s.modify(page, text="[gone]")
            s.decorrelate(essay, "owner")
            s.modify(essay, title="[gone]", text="[gone]")
        assert len({letter.author_id, letter.recipient_id, draft.writer.pk, page.writer_id, essay.owner_id}) == 5
        assert desk.Page.objects.get().pk == page.pk != (bea.user.pk, 7)
        assert desk.Essay.objects.get().title == essay.title == "[gone]"
        for obj in (letter, draft, page, essay):
            assert voice(bea, obj) is not None
            assert voice(carl, obj) is None
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before

    @pytest.mark.once
    def test_all_to_one_pseudoprincipal(self, desk: Any, bea: Person) -> None:
        draft = desk.Draft.objects.create(writer=bea.user)
        pages = [desk.Page.objects.create(writer=bea.user, number=number) for number in range(3)]
        essay = desk.Essay.objects.create(owner=bea.user, title="On disguise")
        before = application_dump()
        with edna.session(bea.user, NAME) as s:
            ghost = s.new_pseudoprincipal()
            s.decorrelate(draft, "writer", to=ghost)
            s.decorrelate(pages, "writer", to=ghost)
            s.decorrelate(desk.Essay.objects.all(), "owner", to=ghost)
        essay.refresh_from_db()
        assert (draft.writer, essay.owner) == (ghost, ghost)
        assert {page.pk for page in pages} == {(ghost.pk, number) for number in range(3)}
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before

    def test_a_child_goes_with_its_parents_row(self, desk: Any, bea: Person) -> None:
        essay = desk.Essay.objects.create(owner=bea.user, title="On disguise", text="It is")
        before = application_dump()
        for given in (essay, desk.Paper.objects.get()):
            with edna.session(bea.user, NAME) as s:
                s.remove(given)
            assert (desk.Paper.objects.count(), desk.Essay.objects.count()) == (0, 0)
            assert bea.reveal(s.receipt).complete
            assert application_dump() == before

    @pytest.mark.once
    def test_a_mention_of_anothers_pseudoprincipal_follows_it(self, desk: Any, bea: Person, carl: Person) -> None:
        """Carl's reveal lets go of whom Bea's removed letter names; her reveal names him."""
        theirs = desk.Letter.objects.create(author=carl.user)
        receipt = carl.disguise("desk.unsign")
        theirs.refresh_from_db()
        letter = desk.Letter.objects.create(author=bea.user, censor=theirs.author)
        with edna.session(bea.user, NAME) as s:
            s.remove(letter)
        assert carl.reveal(receipt).complete
        assert bea.reveal(s.receipt).complete
        assert desk.Letter.objects.get(pk=letter.pk).censor_id == carl.user.pk


def test_signals_follow_a_key_that_changes(desk: Any, bea: Person, django_capture_on_commit_callbacks: Any) -> None:
    """Where the owner is a part of the key: the old key is gone, the new one is to be looked at."""
    page = desk.Page.objects.create(writer=bea.user, number=7)
    before = page.pk
    heard: list[tuple[str, tuple[Any, ...]]] = []

    def removed(sender: Any, keys: tuple[Any, ...], **_: Any) -> None:
        heard.append(("removed", keys))

    def changed(sender: Any, keys: tuple[Any, ...], **_: Any) -> None:
        heard.append(("changed", keys))

    signals.rows_removed.connect(removed, sender=desk.Page)
    signals.rows_changed.connect(changed, sender=desk.Page)
    with django_capture_on_commit_callbacks(execute=True):
        receipt = bea.disguise("desk.publish")
    after = desk.Page.objects.get().pk
    assert sorted(heard) == [("changed", (after,)), ("removed", (before,))]
    heard.clear()
    with django_capture_on_commit_callbacks(execute=True):
        bea.reveal(receipt)
    assert sorted(heard) == [("changed", (before,)), ("removed", (after,))]
    signals.rows_removed.disconnect(removed, sender=desk.Page)
    signals.rows_changed.disconnect(changed, sender=desk.Page)
