"""Disguising and revealing as the door is asked for it: whom it concerns, in one transaction or in several, and what a refusal says.

Invariant: what is refused has changed nothing, but for chunks that were done before, and the error says which of the two it is. An
error's words hold no values of rows. Knows targets, plans and transactions; what is done to rows is decided elsewhere.
A little long: disguising and revealing refuse for the same reasons, and whole and chunks are the same choice for both.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from django.db import DataError, IntegrityError
from django.db.models import Model

from edna import conf, decorrelated_rows, registry, rows_of_others
from edna.db import transactions
from edna.engine.bags.capability import Unlocked, require_unlocked
from edna.engine.books import acts, under_way
from edna.engine.books.measurements import measuring
from edna.engine.by_hand import session
from edna.engine.by_hand.session import Session
from edna.engine.chunks import disguise as disguising_in_chunks
from edna.engine.chunks import everybody
from edna.engine.chunks import reveal as revealing_in_chunks
from edna.engine.disguising import execute as disguising
from edna.engine.erasing import erase as erasing
from edna.engine.graph import staff as the_staff
from edna.engine.graph.outcome import Outcome
from edna.engine.layers.acceptance import Accepted, Rows, require_held, rows_to_give_up
from edna.engine.planning import plan as planning
from edna.engine.planning.scope import Scope
from edna.engine.planning.steps import Plan, Target
from edna.engine.principals import entries_of, identity_at_work, owners_of_rows
from edna.engine.revealing import reveal as revealing
from edna.errors import ConstraintRefused, DatabaseBusy, NotYours, PartsRefused, PrincipalNotRegistered, ReceiptUnknown
from edna.records.chain import chunks_of
from edna.records.locator import Receipt
from edna.registry import ByHand
from edna.spec import Disguise, validated_params
from edna.store import Entry, serverkeys

#: What an error in the middle of several transactions says instead of "nothing was changed".
_STAYS = "The chunks that were done before stay as they are: `edna.history` shows them, and trying again does the rest."
#: The same of everybody.
_DISGUISED_STAY = "Who was disguised before stays so, and finds the receipt with their key."
#: The same in mode client, where the server has no receipt.
_HANDED_OVER_STAY = "Who was disguised before stays so; their receipts were handed over, and are the only way back."
#: What to do where a constraint stands in the way.
_COVER = " Cover every table that refers to what is removed, and give unique columns unique placeholders."

Result = TypeVar("Result")

Params = Mapping[str, Any]


# Plans


def plan(cls: type[Disguise], principal: Model, *, params: Params | None, unlocked: Unlocked | None) -> Plan:
    """What `disguise` would do now. Reads only."""
    model, reference, using = identity_at_work(principal, disguise=cls)
    serverkeys.require(using=using)
    given = validated_params(cls, params)
    target = _target(model, reference, unlocked, doing=(cls, given), lock=False, using=using)
    plan = planning.build(Scope(cls, [target], params=given, using=using))
    return replace(plan, with_key=unlocked is not None)


def beyond_reach(cls: type[Disguise], principal: Model) -> dict[str, list[str]]:
    """What a plan without the person's key would say is `Plan.beyond_reach`. Their entry is read, and none of their rows."""
    model, reference, using = identity_at_work(principal, disguise=cls)
    if not decorrelated_rows.by_others(cls):
        return {}
    target = _target(model, reference, None, doing=None, lock=False, using=using)
    return Plan(cls, {}, model, (target,), (), ()).beyond_reach


def plan_all(cls: type[Disguise], *, params: Params | None, staff: bool) -> Plan:
    """What `disguise_all` would do now, for everybody together. Reads only."""
    given = validated_params(cls, params)
    model = registry.principal_model_for(cls)
    using = registry.database(model)
    serverkeys.require(using=using)
    but = set() if staff else the_staff.references(model, using=using)
    return planning.build_for_everybody(cls, params=given, using=using, but=but)


def staff_among_everybody(cls: type[Disguise], *, params: Params | None) -> int:
    given = validated_params(cls, params)
    model = registry.principal_model_for(cls)
    using = registry.database(model)
    found = the_staff.references(model, using=using)
    return len(found & planning.owners_with_rows(cls, given, using=using)) if found else 0


# One principal


def disguise(
    cls: type[Disguise],
    principal: Model,
    *,
    params: Params | None,
    unlocked: Unlocked | None,
    atomic: bool,
    operator: str,
    require: Callable[[Plan | None], object] | None = None,
) -> Receipt:
    """Disguise one principal: in one transaction, or in chunks if there are many rows and nothing asks for one transaction.

    ``require`` is called while the account is locked, before anything is done: nothing is if it raises. In one transaction it gets the
    plan that is about to be done, in several None.
    """
    model, reference, using = identity_at_work(principal, disguise=cls)
    serverkeys.require(using=using)
    given = validated_params(cls, params)
    whole = atomic or not disguising_in_chunks.are_possible(cls, using=using)
    require_in_chunks = partial(require, None) if require is not None else None

    def in_one() -> Receipt | Callable[[], Receipt] | None:
        """If there are too many rows for that, what does the other chunks, when the first one is done; None if nothing is done."""
        target = _target_now(model, reference, unlocked, doing=(cls, given), using=using)
        scope = Scope(cls, [target], params=given, using=using, lock=True)
        most = None if whole or not target.entry.natural else conf.chunk_rows()
        prepared = planning.build_within(scope, most=most, lock_principals_first=True)
        if prepared is None:
            others = disguising_in_chunks.begin(scope, require=require_in_chunks)
            if others is not None:
                note()
            return others
        if require is not None:
            require(prepared)
        receipt = disguising.execute(prepared, using=using)[0]
        note()
        return receipt

    def note() -> None:
        if operator:
            acts.add("disguise", operator=operator, disguise=cls.name, principals=1)

    def in_chunks() -> Receipt:
        # Before the first chunk: none of them is to be done that nothing tells of.
        note()
        target = _target(model, reference, unlocked, doing=(cls, given), lock=False, using=using)
        return disguising_in_chunks.disguise(cls, target, params=given, using=using, require=require_in_chunks)

    done = _applied(cls, in_one, using=using)
    receipt = done if isinstance(done, Receipt) else _applied(cls, done or in_chunks, using=None)
    if unlocked is not None:
        unlocked.forget_voices()
    return receipt


def disguise_for_good(
    cls: type[Disguise], principal: Model, *, params: Params | None, unlocked: Unlocked | None, operator: str
) -> None:
    """Disguise one principal, in one transaction, without a way back; if the account goes, and the key is given, nothing of it is left."""
    model, reference, using = identity_at_work(principal, disguise=cls)
    serverkeys.require(using=using)
    given = validated_params(cls, params)

    def work() -> bool:
        """Whether nothing is left that the key could open."""
        target = _target_now(model, reference, unlocked, doing=(cls, given), using=using)
        scope = Scope(cls, [target], params=given, using=using, lock=True)
        prepared = planning.build_within(scope, most=None, lock_principals_first=True)
        assert prepared is not None
        disguising.execute(prepared, using=using, for_good=True)
        if operator:
            acts.add("disguise", operator=operator, disguise=cls.name, principals=1, way_back="none")
        return unlocked is not None and erasing.forget_removed(unlocked)

    forgotten = _applied(cls, work, using=using)
    if unlocked is not None:
        unlocked.forget_voices()
        if forgotten:
            unlocked.close()


@contextlib.contextmanager
def by_hand(cls: type[ByHand], principal: Model, *, unlocked: Unlocked | None) -> Iterator[Session]:
    """A disguise by hand: what the block does through the session is one transaction, and one receipt at its end."""
    model, reference, using = identity_at_work(principal)
    serverkeys.require(using=using)

    def begin() -> Session:
        target = _target_now(model, reference, unlocked, doing=None, using=using)
        planning.lock_principals(model, [target], using=using)
        return Session(cls, model, target, using=using)

    opened: Session | None = None
    committed = False
    try:
        block = transactions.block(begin, Session.finish, refusal=lambda: session.refusal(cls), using=using)
        with measuring("session", cls.name), block as opened:
            yield opened
        committed = True
    finally:
        if opened is not None:
            opened.close(committed=committed)
        if unlocked is not None:
            unlocked.forget_voices()


#: A disguise and its parameters; a disguise by hand has none.
_Doing = tuple[type[Disguise], Params] | None


def _target_now(model: type[Model], reference: str, unlocked: Unlocked | None, *, doing: _Doing, using: str) -> Target:
    """The target as it is under its locks."""
    if unlocked is not None:
        # Looked up before the locks were taken, it may lack what somebody else disguised meanwhile.
        unlocked.forget_voices()
    return _target(model, reference, unlocked, doing=doing, lock=True, using=using)


def _target(
    model: type[Model], reference: str, unlocked: Unlocked | None, *, doing: _Doing, lock: bool, using: str
) -> Target:
    """
    Raises:
        PrincipalNotRegistered: they have no key.
        NotYours: it is somebody else who is unlocked.
    """
    entries = entries_of(model, [reference], lock=lock, using=using)
    if not entries:
        raise PrincipalNotRegistered(
            f"{model._meta.label} {reference} has no key. If the account was removed, reveal it; otherwise "
            "give them one first: edna.register_principal, or manage.py edna_register."
        )
    entry = entries[0]
    if unlocked is None:
        return Target(entry, (entry,))
    if unlocked.using != using:
        raise NotYours(
            f"{model._meta.label} {reference} is in {using!r}, and what was unlocked is a key in {unlocked.using!r}; unlock with that "
            "person's own key."
        )
    if entry.public_key != bytes(unlocked.public_key):
        raise NotYours(
            f"The unlocked principal is not {model._meta.label} {reference}; unlock with that person's own key."
        )
    if lock:
        unlocked.voices(lock=True)
    unlocked.require_all_voices()
    others = [voice.entry for voice in unlocked.spoken_for()] if lock else unlocked.spoken_for_now()
    made = _made_so_far(entry, unlocked, doing)
    owners = (entry, *(other for other in others if other.attached and other.public_key not in made))
    return Target(entry, owners, unlocked.speaking(), frozenset(unlocked.needed()))


def _made_so_far(entry: Entry, unlocked: Unlocked, doing: _Doing) -> set[bytes]:
    """Keys of those whom the earlier chunks of the disguise that goes on have made: it is not for them."""
    if doing is None or (first := under_way.noted(entry, doing[0].name, doing[1], using=unlocked.using)) is None:
        return set()
    earlier = {first.chunk(number) for number in chunks_of(first, unlocked.listed())}
    return {voice.entry.public_key for voice in unlocked.spoken_for() if voice.spoken_under in earlier}


# Everybody


def disguise_all(
    cls: type[Disguise],
    *,
    params: Params | None,
    staff: bool,
    progress: everybody.Progress | None,
    atomic: bool,
    hand_over: everybody.HandOver | None,
    operator: str,
) -> list[Receipt]:
    """Disguise everybody who owns a row that the disguise means: in one transaction, or in parts."""
    given = validated_params(cls, params)
    model = registry.principal_model_for(cls)
    using = registry.database(model)
    serverkeys.require(using=using)

    def those_meant(*, lock: bool) -> list[str]:
        but = set() if staff else the_staff.references(model, using=using)
        return owners_of_rows(cls, given, but=but, lock=lock, using=using)[0]

    def note(principals: int) -> None:
        if principals:
            acts.add("disguise", operator=operator, disguise=cls.name, principals=principals, whom="everybody")

    def in_one() -> list[Receipt]:
        meant = those_meant(lock=True)
        receipts = everybody.disguise_in_one(cls, meant, params=given, progress=progress, using=using)
        note(len(receipts))
        if hand_over is None:
            return receipts
        hand_over(receipts)
        return []

    def in_parts() -> list[Receipt]:
        meant = those_meant(lock=False)
        # Before the first part: none of them is to be done that nothing tells of.
        note(len(meant))
        return everybody.disguise_in_parts(
            cls, meant, params=given, progress=progress, hand_over=hand_over, using=using
        )

    if atomic:
        return _applied(cls, in_one, using=using)
    if reason := rows_of_others.refusal(cls):
        raise PartsRefused(f"{reason} Leave `atomic` as it is. Nothing was changed.")
    by_client = (cls.locators or conf.locator_mode()) == "client"
    if by_client and hand_over is None:
        raise PartsRefused(
            f"{cls.name} keeps its locators with the people (mode client): in parts, an error would lose the receipts of those who are "
            "disguised by then, and so their data. Pass `hand_over=`. Nothing was changed."
        )
    return _applied(cls, in_parts, using=None, stays=_HANDED_OVER_STAY if by_client else _DISGUISED_STAY)


def _applied(cls: type[Disguise], work: Callable[[], Result], *, using: str | None, stays: str = _STAYS) -> Result:
    """``work()`` in a transaction, or without, if it makes its own: several."""
    try:
        return work() if using is None else transactions.run(work, using=using)
    except IntegrityError:
        why, remedy = "one of its constraints would be broken", _COVER
    except DataError:
        why, remedy = (
            "a value in these rows cannot be read (a date before the year 1, say), or a new one does not fit",
            "",
        )
    except DatabaseBusy as error:
        if using is not None:
            raise
        raise DatabaseBusy(f"The database was too busy in the middle of {cls.name}. {stays}") from error
    # Outside of the handler: the database's words quote the values of rows, and end up in logs.
    raise ConstraintRefused(
        f"The database refused {cls.name}: {why}. {stays if using is None else 'Nothing was changed.'}{remedy}"
    )


# Back


# Long: two ways to do one thing. What they share, each would take as a parameter.
def reveal(
    receipt: Receipt,
    unlocked: Unlocked,
    *,
    overrides: Mapping[str, Any] | None,
    accepted: Accepted,
    allow_partial: bool,
    atomic: bool,
) -> Outcome:
    """Undo one disguise: in one transaction, or chunk by chunk if it was done so and nothing asks for one transaction."""
    require_unlocked(unlocked, "A reveal")
    using = unlocked.using
    require_held(accepted)
    overrides = overrides or {}
    serverkeys.require_any(using=using)
    # What was handed over fits what is stored now, and not what is stored after the first of several transactions.
    whole, several = atomic or not allow_partial or unlocked.handover is not None, False
    specification = registry.find(receipt.disguise)
    policy = specification.accepts if specification is not None else {}
    give_up = partial(rows_to_give_up, accepted=accepted, policy=policy)

    def forgets(outcome: Outcome) -> bool:
        return bool(outcome.accepted) and erasing.forget_given_up(unlocked)

    def in_one() -> tuple[Outcome, bool] | None:
        """And whether nothing is left of the person. None if it was done in chunks; then nothing is done."""
        unlocked.start_over()
        reveal_again = partial(revealing.reveal, receipt, unlocked, overrides=overrides)
        outcome = reveal_again(allow_partial=allow_partial or bool(accepted or policy))
        if outcome is None:
            return None
        _give_up_what_is_held(outcome, give_up, reveal_again)
        if not allow_partial:
            outcome.require_complete(receipt.disguise)
        return outcome, forgets(outcome)

    def in_chunks() -> tuple[Outcome, bool]:
        unlocked.start_over()
        outcome = revealing_in_chunks.reveal(
            receipt, unlocked, overrides=overrides, give_up=give_up, allow_partial=allow_partial, separately=several
        )
        return outcome, bool(outcome.accepted) and transactions.run(partial(forgets, outcome), using=using)

    try:
        done = transactions.run(in_one, using=using)
        if done is None:
            several = not whole
            done = in_chunks() if several else transactions.run(in_chunks, using=using)
        outcome, forgotten = done
        if forgotten:
            unlocked.close()
        return outcome
    except IntegrityError:
        pass
    except DatabaseBusy as error:
        if not several:
            raise
        raise DatabaseBusy(f"The database was too busy in the middle of {receipt.disguise}. {_STAYS}") from error
    # Outside of the handler: the database's words quote the values of rows, and end up in logs.
    raise ConstraintRefused(
        f"The database refused to take back {receipt.disguise}: somebody has just made a row that stands in the way. "
        f"{_STAYS if several else 'Nothing was changed; try again.'}"
    )


def _give_up_what_is_held(
    outcome: Outcome, give_up: Callable[..., Rows], reveal_again: Callable[..., Outcome | None]
) -> None:
    """Reveals again without the rows that ``give_up`` says, until it says none. The outcome tells of all of it."""
    given_up: Rows = {}
    for attempt in itertools.count():
        more = give_up(outcome, given_up=given_up)
        if not more:
            return
        # Once more before anything is given up: what came back last may have made way for it.
        given_up = {**given_up, **more} if attempt else {}
        # All of the receipt's own may be done: what is held then lies in a bag of several, and is not given up.
        with contextlib.suppress(ReceiptUnknown):
            again = reveal_again(allow_partial=True, given_up=given_up or None)
            assert again is not None
            outcome.forget_held()
            outcome.include(again)
