"""Whom the rows of the zoo refer to in unusual ways: generic keys, keys of another type, columns other than the primary key."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType

import edna
from edna.engine.pseudoprincipals import orphans
from edna.models import Bag, PrincipalEntry
from edna.operations.upkeep import residue, verification
from edna.testing import Person
from tests.zoo.models import lending, studio, town
from tests.zoo.tables import zoo, zoo_tables  # noqa: F401 - fixtures

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("zoo")]


def orphan() -> town.Citizen:
    """A pseudoprincipal whose only row the application has deleted."""
    bea = town.Citizen.objects.create(email="bea@example.org")
    person = Person(bea, edna.register_principal(bea).secret_key)
    post = town.Post.everything.create(author=bea, title="A title", body="")
    person.disguise("zoo.town-hide")
    post.refresh_from_db()
    post.delete()
    return town.Citizen.objects.exclude(pk=bea.pk).get()


def test_a_generic_key_keeps_a_pseudoprincipal() -> None:
    left = orphan()
    flag = town.Flag.objects.create(target=left, note="Who is this?")
    assert residue.sweep().pseudoprincipals == 0
    flag.delete()
    assert residue.sweep().pseudoprincipals == 1
    assert not town.Citizen.objects.filter(pk=left.pk).exists()


def test_a_generic_key_keeps_a_pseudoprincipal_that_a_reveal_would_let_go_of() -> None:
    """It pointed at nobody, and nothing found it any more when the person left. What refers by a foreign key goes to them."""
    bea = town.Citizen.objects.create(email="bea@example.org")
    person = Person(bea, edna.register_principal(bea).secret_key)
    post = town.Post.everything.create(author=bea, title="A title", body="")
    hidden = person.disguise("zoo.town-hide")
    post.refresh_from_db()
    flag = town.Flag.objects.create(target=post.author, note="Who is this?")
    decree = town.Decree.objects.create(mayor_id=post.author_id, text="in force")

    assert person.reveal(hidden).complete

    post.refresh_from_db()
    flag.refresh_from_db()
    decree.refresh_from_db()
    assert (post.author_id, decree.mayor_id) == (bea.pk, bea.pk)
    assert isinstance(flag.target, town.Citizen)
    assert flag.target.pk != bea.pk
    flag.delete()
    assert person.reveal(hidden).complete
    assert list(town.Citizen.objects.all()) == [bea]
    assert PrincipalEntry.objects.count() == 1
    assert not Bag.objects.exists()


def test_a_generic_key_to_another_table_does_not() -> None:
    left = orphan()
    kind = ContentType.objects.get_for_model(town.Post)
    town.Flag.objects.create(content_type=kind, object_id=left.pk, note="Not them")
    assert residue.sweep().pseudoprincipals == 1


def test_a_generic_key_of_numbers_cannot_be_about_somebody_with_a_uuid() -> None:
    assert orphans.unreferenced(studio.Artist, [str(uuid.uuid4())], using="default") != set()


def test_where_foreign_keys_refer_to_another_column_nobody_is_swept() -> None:
    assert not orphans.may_be_swept(lending.Reader, made_by_hand=True, using="default")
    assert orphans.may_be_swept(town.Citizen, made_by_hand=False, using="default")


def test_a_pseudoprincipal_without_an_entry_is_found_by_its_address_and_its_key() -> None:
    left = orphan()
    residue.store.delete_entries(
        residue.store.entries_by_reference("zoo.citizen", [str(left.pk)], using="default"), using="default"
    )
    # A site's own way to say "nobody". In bulk, for Django takes what MySQL says of the number of one row, and that has no sign.
    town.Citizen.objects.bulk_create([town.Citizen(pk=-1, email="nobody@example.org")])
    found: dict[str, Any] = {each.kind: each.ids for each in verification.verify().findings}
    assert found == {"row_without_entry": [str(left.pk)]}
