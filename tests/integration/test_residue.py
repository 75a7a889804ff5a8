"""What nobody needs is swept, what anybody may need is not, and whoever reveals later gets everything back."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection

import edna
from edna import api, inner_door, signals, store
from edna.engine.pseudoprincipals import orphans
from edna.models import Bag, PrincipalEntry, SessionLink
from edna.operations.models import Job, JobItem, JobRunner
from edna.operations.upkeep import residue
from edna.testing import Person, application_dump
from tests.databases import first_everywhere
from tests.support import execute, nothing_changes, statements

pytestmark = [pytest.mark.django_db, pytest.mark.long]

NOTHING = {"pseudoprincipals": 0, "detached": 0, "session_links": 0, "job_rows": 0, "forged": 0}


def person(world: Any, handle: str = "ada") -> Person:
    user = world.Person.objects.create(handle=handle)
    return Person(user, edna.register_principal(user).secret_key)


@pytest.fixture
def ada(world: Any) -> Person:
    ada = person(world)
    for number in range(3):
        world.Note.objects.create(author=ada.user, text=f"note {number}")
    return ada


def pseudoprincipals(world: Any, ada: Person) -> int:
    return int(world.Person.objects.exclude(pk=ada.user.pk).count())


# Pseudoprincipals


def test_who_owns_something_stays(world: Any, ada: Person) -> None:
    before = application_dump()
    receipt = ada.disguise("world.anonymise")
    assert residue.sweep().as_dict() == NOTHING
    assert ada.reveal(receipt).complete
    assert application_dump() == before


def test_who_owns_nothing_any_more_goes_with_their_entry(world: Any, ada: Person) -> None:
    receipt = ada.disguise("world.anonymise")
    gone = world.Note.objects.first()
    owner = gone.author_id
    gone.delete()
    seen: list[Any] = []

    def listen(*, keys: Any, **_: Any) -> None:
        seen.extend(keys)

    signals.rows_removed.connect(listen, sender=world.Person)
    try:
        assert residue.sweep().pseudoprincipals == 1
    finally:
        signals.rows_removed.disconnect(listen, sender=world.Person)
    assert not world.Person.objects.filter(pk=owner).exists()
    assert not PrincipalEntry.objects.filter(reference=str(owner)).exists()
    outcome = ada.reveal(receipt)
    assert (outcome.restored, len(outcome.held)) == ({"world.note": 2}, 1)
    assert pseudoprincipals(world, ada) == 0


@first_everywhere("first", [0, 1])
@pytest.mark.parametrize("second", ["world.anonymise", "world.prune"])
def test_a_chain_of_pseudoprincipals_comes_back_in_any_order(world: Any, ada: Person, second: str, first: int) -> None:
    """The first ones own nothing since the second disguise, whose records, sealed to ada, name them."""
    before = application_dump()
    receipts = [ada.disguise("world.anonymise"), ada.disguise(second, with_key=True)]
    assert residue.sweep().pseudoprincipals == 3
    ada.reveal(receipts.pop(first))
    residue.sweep()
    assert ada.reveal(receipts[0]).complete
    assert application_dump() == before
    assert Bag.objects.count() == 0
    assert PrincipalEntry.objects.count() == 1


@pytest.mark.once
def test_rows_that_were_removed_with_the_key_at_hand_name_the_swept(world: Any, ada: Person) -> None:
    before = application_dump()
    receipts = [ada.disguise("world.anonymise"), ada.disguise("world.leave", with_key=True)]
    residue.sweep()
    for receipt in reversed(receipts):
        assert ada.reveal(receipt).complete
        residue.sweep()
    assert application_dump() == before


@pytest.mark.once
def test_who_is_made_again_is_a_pseudoprincipal_and_goes_in_the_end(world: Any, ada: Person) -> None:
    receipts = [ada.disguise("world.anonymise"), ada.disguise("world.prune", with_key=True)]
    swept = set(world.Person.objects.exclude(pk=ada.user.pk).values_list("pk", flat=True))
    residue.sweep()
    ada.reveal(receipts[1])
    back = list(world.Person.objects.exclude(pk=ada.user.pk))
    assert {each.pk for each in back} <= swept
    assert len(back) == 3
    assert all(api.is_pseudoprincipal(each) for each in back)
    with ada.unlock() as unlocked:
        assert set(api.speaks_for(unlocked)) == {each.pk for each in back}
    ada.reveal(receipts[0])
    assert pseudoprincipals(world, ada) == 0


def test_somebody_else_has_the_key_by_now(world: Any, ada: Person) -> None:
    """Rows must not come back to a stranger; the pseudoprincipal gets another key."""
    before = application_dump()
    receipts = [ada.disguise("world.anonymise"), ada.disguise("world.prune", with_key=True)]
    taken = list(world.Person.objects.exclude(pk=ada.user.pk).values_list("pk", flat=True))
    residue.sweep()
    free = [pk for pk in taken if not world.Person.objects.filter(pk=pk).exists()]
    assert len(free) == 3
    strangers = [world.Person.objects.create(pk=pk, handle=f"stranger {n}") for n, pk in enumerate(free)]
    ada.reveal(receipts[1])
    assert not world.Note.objects.filter(author__in=strangers).exists()
    assert ada.reveal(receipts[0]).complete
    assert world.Person.objects.filter(pk__in=free).count() == 3
    for each in strangers:
        each.delete()
    assert application_dump() == before


@pytest.mark.once
def test_after_a_rotation_the_old_keys_of_the_swept_open_nothing(world: Any, ada: Person) -> None:
    before = application_dump()
    receipts = [ada.disguise("world.anonymise"), ada.disguise("world.prune", with_key=True)]
    old = {bytes(entry.public_key) for entry in PrincipalEntry.objects.all()}
    residue.sweep()
    with ada.unlock() as unlocked:
        ada = Person(ada.user, edna.rotate(unlocked).secret_key)
    ada.reveal(receipts[1])
    assert old.isdisjoint(bytes(entry.public_key) for entry in PrincipalEntry.objects.all())
    assert ada.reveal(receipts[0]).complete
    assert application_dump() == before


@pytest.mark.once
def test_who_is_named_by_somebody_elses_records_stays(world: Any, ada: Person) -> None:
    """Bert liked what is ada's, and left: the like is sealed to him and names a note, and ada's like of his is sealed, too."""
    bert = person(world, "bert")
    note = world.Note.objects.create(author=bert.user, text="of bert")
    world.Like.objects.create(person=ada.user, note=note)
    before = application_dump()
    ada_receipt = ada.disguise("world.anonymise")
    bert_receipt = bert.disguise("world.leave")
    # The one who stands for ada in bert's sealed like owns nothing, and is mentioned there.
    assert residue.sweep().pseudoprincipals == 0
    assert ada.reveal(ada_receipt).held or True
    assert bert.reveal(bert_receipt).complete
    for receipt in (entry.receipt for entry in ada.history()):
        ada.reveal(receipt)
    assert application_dump() == before


@pytest.mark.once
def test_a_disguise_for_which_a_bag_waits_keeps_its_pseudoprincipals(world: Any, ada: Person) -> None:
    """An administrator disguised the pseudoprincipals: their bags are listed for them."""
    before = application_dump()
    ada.disguise("world.anonymise")
    edna.disguise_all("world.prune")
    assert residue.sweep().pseudoprincipals == 0
    ada.reveal_everything()
    assert application_dump() == before


def ids_of_pseudoprincipals() -> list[int]:
    return list(PrincipalEntry.objects.filter(natural=False).values_list("pk", flat=True))


def test_somebody_has_listed_something_for_one_since_it_was_found(world: Any, ada: Person) -> None:
    """It is looked at again, locked, before it goes."""
    ada.disguise("world.anonymise")
    world.Note.objects.all().delete()
    ids = ids_of_pseudoprincipals()
    key = bytes(PrincipalEntry.objects.get(pk=ids[0]).public_key)
    [entry] = store.entries_by_public_key([key], using="default")
    store.save_entries([entry._replace(locators=b"x" * 80)], using="default")
    assert orphans.let_go(world.Person, ids, using="default") == len(ids) - 1
    assert ids_of_pseudoprincipals() == [entry.id]


def test_somebody_refers_to_one_since_it_was_found(world: Any, ada: Person) -> None:
    ada.disguise("world.anonymise")
    with nothing_changes():
        assert orphans.let_go(world.Person, ids_of_pseudoprincipals(), using="default") == 0


@pytest.mark.once
def test_nobody_is_swept_where_sessions_may_have_made_some(world: Any, ada: Person) -> None:
    @edna.on_reveal("world.by-hand")
    def callback(revealed: Any) -> None:
        pass

    try:
        with edna.session(ada.user, "world.by-hand") as session:
            session.new_pseudoprincipal()
        assert residue.sweep().pseudoprincipals == 0
        assert residue.sweep(made_by_hand=True).pseudoprincipals == 1
        assert ada.reveal(session.receipt).complete
    finally:
        edna.unregister(callback)


def test_natural_people_who_own_nothing_stay(world: Any) -> None:
    person(world)
    assert residue.sweep().as_dict() == NOTHING


def test_as_many_statements_for_many_as_for_few(world: Any, ada: Person) -> None:
    def orphans(count: int) -> int:
        world.Note.objects.bulk_create(world.Note(author=ada.user, text="n") for _ in range(count))
        ada.disguise("world.anonymise")
        world.Note.objects.all().delete()
        return len(statements(lambda: residue.sweep()))

    residue.sweep()
    few = orphans(1)
    assert orphans(20) == few
    assert pseudoprincipals(world, ada) == 0


# Residue


def test_an_entry_whose_row_was_deleted_past_django_is_detached(world: Any, ada: Person) -> None:
    bert = person(world, "bert")
    entry = PrincipalEntry.objects.get(public_key=bytes(bert.secret_key.public_key))
    key = world.Person._meta.pk.get_db_prep_value(bert.user.pk, connection)
    job = Job.objects.create(
        disguise="world.leave", everybody=False, state="paused", total=1, concurrency=1, created_on="2026-01-01"
    )
    JobItem.objects.create(job=job.pk, reference=str(bert.user.pk))
    inner_door.end_sessions_on_removal(bert.user, "b" * 32)
    assert execute("DELETE FROM world_person WHERE id = %s", [key]) == 1
    assert residue.sweep().detached == 1
    assert (JobItem.objects.count(), SessionLink.objects.count()) == (0, 0)
    entry.refresh_from_db()
    assert (entry.reference, entry.model, entry.natural, entry.last_seen_on) == (None, "", False, None)
    assert residue.sweep().detached == 0


def test_links_of_sessions_that_are_over(world: Any) -> None:
    ada = person(world)
    inner_door.end_sessions_on_removal(ada.user, "k" * 32)
    Session.objects.create(session_key="s" * 32, session_data="", expire_date="2030-01-01T00:00Z")
    inner_door.end_sessions_on_removal(ada.user, "s" * 32)
    assert residue.sweep().session_links == 1
    assert [link.session_key for link in SessionLink.objects.all()] == ["s" * 32]


def test_links_stay_where_sessions_live_elsewhere(world: Any, settings: Any) -> None:
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.cache"
    inner_door.end_sessions_on_removal(person(world).user, "k" * 32)
    assert residue.sweep().session_links == 0


def test_lists_and_runners_of_jobs_that_are_gone(world: Any) -> None:
    JobItem.objects.create(job=5, reference="7")
    JobRunner.objects.create(job=5, name="a", seen_at="2030-01-01T00:00Z")
    assert residue.sweep().job_rows == 2
    assert not JobItem.objects.exists()
    assert not JobRunner.objects.exists()
    assert Job.objects.count() == 0


@pytest.mark.once
def test_the_command(world: Any, ada: Person) -> None:
    ada.disguise("world.anonymise")
    world.Note.objects.first().delete()

    def run(*arguments: str) -> str:
        out = StringIO()
        call_command("edna_sweep", *arguments, stdout=out)
        return out.getvalue()

    assert "pseudoprincipals to whom nothing refers" in run()
    assert run() == "Nothing was left over.\n"
    assert json.loads(run("--json")) == NOTHING
