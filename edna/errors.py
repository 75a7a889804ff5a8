"""Every error that edna raises on purpose: one tree, rooted at `EdnaError`.

Each class says what happened (cause) and what to do about it (remedy). A caller that wants to show something friendly
catches the branch it understands; whatever was attempted has changed nothing unless the docstring says otherwise.
Messages never carry a secret, a locator or a column value: they end up in logs and in error pages.

This module imports nothing from edna and nothing from Django, so that any layer can raise from it. One file on purpose: the tree.
"""

from __future__ import annotations


class EdnaError(Exception):
    """Root of the tree.

    Cause: see the leaf. Remedy: catch this class where a page or a job must turn any refusal of edna into a message.
    """


# --- what the developer wrote -----------------------------------------------------------------------------------------


class ConfigurationError(EdnaError):
    """Cause: a setting in `EDNA = {...}` (or one it needs) is missing, mistyped or contradicts another.

    Remedy: correct the setting that the message names; `manage.py check` lists all of them at once.
    """


class ServerKeyUnknown(ConfigurationError):
    """Cause: the key of `EDNA["MAC_KEYS"]` that would be used is not one that the database knows: another site's, mistyped, or new. What
    it seals, the right one would not find; what the right one sealed, it does not open. Nothing was changed.

    Remedy: put the key back that was there before. If it is a new one on purpose, `manage.py edna_keys add`, with the former one still
    in the list. `manage.py edna_keys list` shows which is which.
    """


class ServerKeyRefused(EdnaError):
    """Cause: a key of the server cannot be added to those that the database knows, or forgotten, as it was asked for. Nothing was changed.

    Remedy: the message says why; `manage.py edna_keys list` shows the keys.
    """


class DatabaseNotChosen(ConfigurationError):
    """Cause: this site keeps its people in several databases (`EDNA["DATABASES"]`), and nothing says which of them is meant: no person, no
    key, no `edna.on`. Or one was named that is none of them, or a person of another one. Nothing was done.

    Remedy: `with edna.on("north"):` around the call, with one of these names; `--database north` for commands. For a person of another
    database, leave that block.
    """


class SpecError(EdnaError):
    """Cause: a disguise specification cannot be used as it was written or as it was called.

    Remedy: see the leaf; the message names the disguise and the part of it.
    """


class UnknownDisguise(SpecError):
    """Cause: no disguise is registered under that name.

    Remedy: check the spelling; make sure that the application's `disguises.py` is importable and that the class carries
    `@edna.register`.
    """


class UnknownSchedule(SpecError):
    """Cause: no schedule is registered under that name.

    Remedy: check the spelling; make sure that the application's `disguises.py` is importable and that the function carries
    `@edna.schedule`.
    """


class InvalidParameters(SpecError):
    """Cause: a parameter of the disguise is missing, unknown, or of another type than the specification declares.

    Remedy: pass exactly the parameters of the specification's `params`, with values of the declared types.
    """


class DanglingReferences(SpecError):
    """Cause: applying the specification would leave rows that point at a removed row.

    Remedy: cover the field that the message names in the same specification (`Remove`, `Decorrelate`), or declare with
    `Keep` that the reference stays on purpose.
    """


class ConstraintRefused(SpecError):
    """Cause: the database refused the disguise, because one of its constraints would be broken: often a foreign key of a table that
    no Django model describes, or a placeholder that is the same for two rows of a unique column. Or it did less than it was told, because
    of a trigger or a policy; or took two spellings of a key for the same. Nothing was changed.

    Remedy: give that table a model and cover it in the same specification, or choose a unique placeholder; else as the message says.
    """


class PartsRefused(SpecError):
    """Cause: `edna.disguise_all` was asked for parts (`atomic=False`), and this disguise cannot be done in parts without harm: an error
    would lose receipts that are the only way back, or a step reads what earlier parts have changed. Nothing was changed.

    Remedy: the message says which of the two; pass `hand_over`, or leave `atomic` as it is.
    """


# --- who is meant -----------------------------------------------------------------------------------------------------


class PrincipalError(EdnaError):
    """Cause: the principal is not in the state that the operation needs.

    Remedy: see the leaf.
    """


class PrincipalNotRegistered(PrincipalError):
    """Cause: the principal has no public key, so nothing can be sealed to them.

    Remedy: call `edna.register_principal` (or `manage.py edna_register`) once for that principal first.
    """


class PrincipalAlreadyRegistered(PrincipalError):
    """Cause: the principal already has a public key; a second one would orphan what is sealed to the first.

    Remedy: use the existing key: unlock it with the password or the recovery code.
    """


class PrincipalHasDevices(PrincipalError):
    """Cause: a person's key was to be replaced by one that none of their devices has: the group would end. Nothing was changed.

    Remedy: `edna.devices.update` with the key of a device gives all of them another key; `edna.devices.end` gives the person one key
    again, and no devices.
    """


class UnregisteredOwners(PrincipalError):
    """Cause: a disguise for everybody met owners of rows who have no public key. It names the first of them by their primary keys.

    Remedy: run `manage.py edna_register --all --keys-file FILE`, or restrict the disguise so that it leaves those owners out. If they
    run the site, or stand for nobody, as django-guardian's user for visitors, `EDNA["STAFF"]` says so; commands and jobs leave them out
    then, unless they are told `--include-staff`.
    """


class EntryForged(PrincipalError):
    """Cause: an entry does not carry this site's tag: whose key it is was written or changed past edna, perhaps so that what is sealed
    next can be opened by somebody else, or so that somebody's key speaks for a person who is not theirs. Or it was written under a
    server key that is not in `EDNA["MAC_KEYS"]` now. Or it was tagged in another of several databases, or while there was one. Or, of
    somebody who was removed, it has another ML-KEM half than belongs to their key. Nothing is sealed to it, nobody speaks for whom it
    names, and nothing was changed.

    Remedy: put a missing key back into `EDNA["MAC_KEYS"]`, behind the present one, and run `manage.py edna_vouch`; then it can go.
    Of several databases, docs/howto-shards.md says what to vouch for. Otherwise find out who wrote to the table, and restore the row
    that the message names from a backup; if it is right as it is, `manage.py edna_vouch --entry` says so.
    """


class NotYours(PrincipalError):
    """Cause: the unlocked principal does not speak for the owner of the object.

    Remedy: unlock the principal whose object it is; nobody else can act for it, staff included.
    """


# --- keys and ways to get them back -----------------------------------------------------------------------------------


class CustodyError(EdnaError):
    """Cause: a secret key could not be brought back or used.

    Remedy: see the leaf.
    """


class KeyMalformed(CustodyError, ValueError):
    """Cause: the text or the bytes are not a key: wrong length, mistyped, or a public key that protects nothing or opens
    nothing.

    Remedy: copy the whole key again; a public key must be 32 bytes that an X25519 implementation made. Of an entry, as the message says.
    """


class WrongCredentials(CustodyError):
    """Cause: identifier and password, or the recovery code, open no key slot. It never says which of them was wrong.

    Remedy: check both for typing errors, or use another way in (recovery code instead of the password, or vice versa).
    """


class RecoveryCodeMalformed(CustodyError):
    """Cause: the text is not a recovery code: too short, too long, a foreign character, or its checksum does not match.

    Remedy: copy the code again; case, spaces, dashes and the pairs O/0 and I/L/1 do not matter.
    """


class SlotRefused(CustodyError):
    """Cause: a key slot that was made in a browser has not the form of one, or two came that are of the same kind or open with the same
    secret. Nothing was changed.

    Remedy: make it again; the modules in `edna/static/edna/js` do.
    """


class KeyNotProved(CustodyError):
    """Cause: a request that acts for a key, made in a browser, does not prove that its sender has the secret key; or it was proved some
    time ago, in another browser, or before a log-in. Nothing was changed.

    Remedy: ask for a challenge and open it again: the modules in `edna/static/edna/js` do.
    """


class CapabilityClosed(CustodyError):
    """Cause: an unlocked principal was used after its `with` block or its request had ended.

    Remedy: unlock again; do not keep an unlocked principal in a cache, a session or a global.
    """


class SecretKeyNeeded(CustodyError):
    """Cause: what was asked for takes the secret key itself, and a browser handed over what opens some bags instead of it.

    Remedy: do it with the key: unlock on the server, with the recovery code for example. Nothing was changed.
    """


class HandoverRefused(CustodyError):
    """Cause: what a browser handed over does not fit what is stored, or is not enough: a list has changed meanwhile (another tab, somebody
    else's reveal), a bag was sealed anew, or one is needed whose key was not handed over; or, for a new key, it was not all, or a bag that
    is not theirs.

    Remedy: walk again, and hand over what is there now. Nothing was changed. What was sealed before keys stayed in browsers takes a new key
    first: docs/howto-pages.md, "Move to keys in browsers".
    """


class SocketRefused(CustodyError):
    """Cause: what came over a socket with the profile AUTH or SECURE is not what the other side has said, in its order: it was changed,
    brought again, left out or cut off on the way; or the other side has another key, or speaks another profile or version. Nothing of it
    was taken over. A guardian or a monitor that cannot be reached for it says so in `GuardianRefused` or `MonitorUnavailable`.

    Remedy: look at the address, and at the keys and the profile of both sides. If they are right, find out who is on the way between them.
    """


class GuardianRefused(CustodyError):
    """Cause: what a guardian, or somebody who speaks to one, has sent is not as it has to be: no valid point, a share or a proof that does
    not fit, another epoch, a signature of nobody who may. The message says whose it was. Nothing was changed.

    Remedy: the others go on without it. See to the guardian that is named: its log says what it was asked. `.guardian` is its number, if
    one is meant.
    """

    def __init__(self, message: str = "", *, guardian: int | None = None) -> None:
        super().__init__(message)
        self.guardian = guardian


class QuorumUnavailable(CustodyError):
    """Cause: fewer guardians than needed gave right answers in time. `.have` and `.need` say how many; `.wrong` says, by the number of a
    guardian, what was wrong with its answer. Nothing was written.

    Remedy: try again when more of them are up, or have agreed to help; `manage.py edna_guardian status` shows them.
    """

    def __init__(self, message: str = "", *, have: int = 0, need: int = 0, wrong: dict[int, str] | None = None) -> None:
        self.have, self.need, self.wrong = have, need, dict(wrong or {})
        told = "".join(f" {self.said_by(number, what)}" for number, what in sorted(self.wrong.items()))
        super().__init__(message or f"{have} of the {need} guardians that are needed gave right answers.{told}")

    @staticmethod
    def said_by(number: int, what: str) -> str:
        """What a guardian says, with its number in front, once."""
        return what if what.startswith(f"Guardian {number}") else f"Guardian {number}: {what}"


class TicketRefused(CustodyError):
    """Cause: a guardian does not help with this ticket: it was not confirmed yet, has to wait, was vetoed, is used up or over; or there
    were too many of them. `.retry_after_seconds` says when it may be otherwise, if time alone changes it. Nothing was changed.

    Remedy: do what the message says, which is what the guardian's policy asks for; then try again.
    """

    def __init__(self, message: str = "", *, retry_after_seconds: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class EnvelopeRefused(CustodyError):
    """Cause: an envelope does not open with what the guardians answered: another PIN, or somebody has changed it; it is none that this
    release reads; or a refresh of the guardians fell into the enrolment. Nothing was changed.

    Remedy: try the PIN again; then take the envelope from a backup. If a refresh fell into it, enroll again.
    """


class PolicyMalformed(ConfigurationError):
    """Cause: a text is no policy, names something that cannot be an attribute, or needs more than 64 clauses. The message says where.

    Remedy: write it as docs/format.md, "Policy seals", says: `region = eu and build in (1.2, 1.3)`.
    """


class AttestationRefused(CustodyError):
    """Cause: a monitor of policies does not take what a process shows of itself, or a process does not take what a monitor has
    answered. Nothing
    was changed, and nobody got a key.

    Remedy: see the leaf.
    """


class NonceRefused(AttestationRefused):
    """Cause: evidence or a quote was made for another nonce, or one that was used before, or long ago: it may be a replay.

    Remedy: ask for a new nonce and attest anew.
    """


class EvidenceForged(AttestationRefused):
    """Cause: evidence, a certificate or an attestation is not signed by who it says, was changed since, or is of a kind that is not
    taken.

    Remedy: take the file again from whoever made it; look at which kinds the monitor takes.
    """


class CertifierUnknown(AttestationRefused):
    """Cause: a certificate or a manifest is signed by somebody whom the monitor does not trust, or not for such an attribute.

    Remedy: have the monitor trust them, if they are to be trusted.
    """


class MeasurementUnknown(AttestationRefused):
    """Cause: what was measured of a process is in no certificate that is valid now: another build, or another machine.

    Remedy: have a certifier say what it stands for, or find out what runs there.
    """


class ClauseListForged(AttestationRefused):
    """Cause: the list of clauses was not signed by the monitor as it is. Nothing is sealed to its keys.

    Remedy: take it again from the monitor.
    """


class ClauseKeyForged(AttestationRefused):
    """Cause: a key in the list of clauses is not signed by the monitor for this clause and epoch. Nothing is sealed to it.

    Remedy: as for `ClauseListForged`; and find out who made the list, for it is signed as a whole.
    """


class ClauseKeyMissing(AttestationRefused):
    """Cause: a policy is used that the monitor was not told, so that its list of clauses has no key for it. Nothing was sealed.

    Remedy: tell the monitor, and give its new list to those that seal.
    """


class AttributeParametersForged(AttestationRefused):
    """Cause: the parameters by which policies by attributes are sealed were not signed by the monitor as they are, or are of an epoch that
    it has closed. Nothing is sealed by them.

    Remedy: take them again from the monitor: `edna_monitor attributes`.
    """


class CredentialForged(AttestationRefused):
    """Cause: what should be a credential, or a clone of a monitor, is not signed by the monitor for this session, or has keys that do
    not belong to
    its clauses.

    Remedy: look at the address and the key of the monitor in the settings; then attest anew.
    """


class OperationRefused(CustodyError):
    """Cause: what a device has done to its group may not be done, or not now; or it is none that this release reads, or of another group.
    Nothing was changed.

    Remedy: what the message says. If it stands in the log, restore that from a backup.
    """


class OperationForged(OperationRefused):
    """Cause: an operation in the log of a group is not signed by the device that is said to have made it. Nothing of it was taken over.

    Remedy: restore the log from a backup, and find out who can write there.
    """


class OperationReplayed(OperationRefused):
    """Cause: an operation stands in the log of a group a second time. Nothing of it was taken over.

    Remedy: restore the log from a backup, and find out who can write there.
    """


class SequenceTaken(OperationRefused):
    """Cause: another device has done something at the same time, and was quicker. Nothing was changed.

    Remedy: catch up, and do it again.
    """


class DirectMessageRefused(CustodyError):
    """Cause: what an operation says to this device alone does not open, or names another secret than the others were told: it was swapped,
    changed, or made wrongly. Nothing of it was taken over.

    Remedy: remove this device from another one, and add it anew.
    """


class DeviceLogTruncated(CustodyError):
    """Cause: the log of a group ends before what this device knows of it, or something is missing in between. Nothing was changed.

    Remedy: restore the log from a backup.
    """


class DeviceLogForked(CustodyError):
    """Cause: the log of a group is another one than this device knows: somebody has exchanged its end, or a backup was restored. Nothing
    was changed.

    Remedy: restore the log that the devices know. If there is none, begin a new group.
    """


class DeviceCopied(CustodyError):
    """Cause: the log of a group has an operation that this device has signed and not made: somebody has a copy of it, or an older state
    of it was restored. Nothing of it was taken over.

    Remedy: remove this device from another one, and add it anew.
    """


class DeviceStateRefused(CustodyError):
    """Cause: what should be the stored state of a device is none that this release reads. Nothing was changed.

    Remedy: restore it from a backup; or remove this device from another one, and add it anew.
    """


class DeviceCodeRefused(CustodyError):
    """Cause: a code was typed that is no code of a device, that no device shows now, or under which somebody has put another device.
    Nothing was changed.

    Remedy: look at the code on the new device and type it again; if it says the same, begin anew there.
    """


class DeviceUnknown(CustodyError):
    """Cause: a key was given that is not the key of a device here, or of one that was not added yet. Nothing was changed.

    Remedy: check that it is the key of a device and of this site; add the device from another one first.
    """


class DeviceRemoved(CustodyError):
    """Cause: this device is not in its group any more, or not yet. Nothing was changed.

    Remedy: add it from a device that is in the group.
    """


class DeviceLoggedOut(CustodyError):
    """Cause: a browser that keeps the key of a device asks for what it opens, nobody is logged in there, and the account is not away.
    Nothing was changed.

    Remedy: log in; or type the password, the recovery code or the secret key.
    """


class AudienceRefused(CustodyError):
    """Cause: what somebody has done, or would do, to an audience may not be done, or not now; or it is none that this release reads, or of
    another audience. Nothing was changed.

    Remedy: what the message says. If it is stored so, restore the audience's tables from a backup.
    """


class AudienceForged(AudienceRefused):
    """Cause: an update of an audience is not signed by the member that is said to have made it; or a row of an audience, of what is shared
    or held, or of a request does not carry this site's tag: it was written or changed past edna, perhaps so that what is sealed next can be
    opened by somebody else, or so that members agree to something else than they saw. Or it was written under a server key that is not in
    `EDNA["MAC_KEYS"]` now. Nothing of it was taken over, nothing is sealed or opened by it, and nothing was changed.

    Remedy: put a missing key back into `EDNA["MAC_KEYS"]`, behind the present one. Otherwise find out who can write there, and restore the
    row that the message names from a backup; a request can be deleted, and asked anew.
    """


class AudienceChanged(AudienceRefused):
    """Cause: an update of an audience was made for another moment: another member was quicker, or it comes a second time. Nothing was
    changed.

    Remedy: read the audience anew, and do it again.
    """


class AudienceExists(AudienceRefused):
    """Cause: an audience was to be made by a name that another one has, and the key is of nobody in that one; or of one by that name some
    rows are left, and others were taken away past edna. Nothing was changed.

    Remedy: take another name; or let a member of the audience that is there take in whoever is to be in it; or restore the rows that are
    missing from a backup.
    """


class AudienceInUse(AudienceRefused):
    """Cause: an audience was to be deleted for which something is held, or may be: somebody took shares away, or changed what is held past
    edna. With it, what is held could be opened by nobody but the person. Nothing was changed.

    Remedy: if rows were taken away or changed, restore them from a backup. Wait until it was brought back or has expired; or say that it
    shall be lost, `lose_held=True`, `--lose-held`. To have others in its place, take them in, and hand the shares on to them.
    """


class NotInAudience(CustodyError):
    """Cause: a key was given of somebody who is not in the audience, any more or yet, or who has no share in what it opens together.
    Nothing was changed.

    Remedy: let a member take them in. Whoever came after something was sealed for several together gets a share when enough of the others
    hand theirs on.
    """


class WrapRefused(CustodyError):
    """Cause: a node of an audience's tree, or a former secret, does not open for a member below it: it was changed past edna. Nothing was
    changed.

    Remedy: restore the audience's tables from a backup, and find out who can write there.
    """


class ShareRefused(CustodyError):
    """Cause: a share or what a member does with it is not what was announced: it was changed, or made wrongly. The message says whose it
    was. Nothing was changed.

    Remedy: the others go on without it; let enough of them hand their shares on, which gives everybody a new one.
    """


class HeldCopyRefused(CustodyError):
    """Cause: members of an audience ask for what they may not, or cannot, open together: nothing about this person is held for them, it is
    held for others, or a request is not theirs or not there. Nothing was opened.

    Remedy: what the message says. Only what a disguise has taken away that declares the audience is held for it.
    """


class AudienceUnknown(CustodyError):
    """Cause: there is no audience of this name here, or none of which as many act together as was asked for. Nothing was changed.

    Remedy: make it with `edna.audiences.create`, before the disguise that declares it is applied.
    """


class AudienceTooSmall(CustodyError):
    """Cause: in an audience fewer members are left that have a share than have to act together, so that nobody could read what is held for
    it: a disguise that declares it is refused, and so is handing shares on. `.have` and `.need` say how many. Nothing was changed.

    Remedy: take somebody in again who had a share and went (`edna.audiences.join`, with the card of then); theirs counts again. If they do
    not come back, what is held is lost: delete the audience (`edna_audiences delete --lose-held`), and make it anew.
    """

    def __init__(self, message: str = "", *, have: int = 0, need: int = 0) -> None:
        self.have, self.need = have, need
        super().__init__(message)


class TooFewTogether(CustodyError):
    """Cause: what several members of an audience open together was asked for by fewer of them. `.have` and `.need` say how many. Nothing
    was opened.

    Remedy: let further members agree.
    """

    def __init__(self, message: str = "", *, have: int = 0, need: int = 0) -> None:
        self.have, self.need = have, need
        super().__init__(message or f"{have} of the {need} members who have to act together have done their part.")


class DeviceGroupEnded(CustodyError):
    """Cause: the key that the devices of a group have is nobody's any more. Its person has made another group, or a new key in another way;
    or nothing was left for it to open; or somebody has taken away the end of the log, so that this device does not know the present key.
    Nothing was changed.

    Remedy: use a device of the new group, or the new key. If there is none, restore the records of devices from a backup.
    `edna.devices.forget` deletes what is kept of a device that is not needed any more.
    """


# --- receipts ---------------------------------------------------------------------------------------------------------


class ReceiptError(EdnaError):
    """Cause: a receipt does not lead to something that can be revealed.

    Remedy: see the leaf.
    """


class ReceiptMalformed(ReceiptError):
    """Cause: the text is not a receipt: truncated or mistyped (its checksum does not match).

    Remedy: copy the whole receipt again, from `edna1:` to its last character; line breaks inside do not matter.
    """


class ReceiptUnknown(ReceiptError):
    """Cause: nothing is stored under this receipt: it was revealed already, it expired, or it belongs to another site.

    Remedy: look at `edna.history(unlocked)` for what is disguised now; check that this is the site that issued it.
    """


class ReceiptForeign(ReceiptError):
    """Cause: something is stored under this receipt, but none of this principal's keys opens it.

    Remedy: unlock the principal to whom the receipt was given.
    """


class ReceiptsIncomplete(ReceiptError):
    """Cause: keys were to be rotated where bags may be known by their receipts alone (locator mode `client`). Those whose receipts
    are not given would stay sealed to the old key, and the new one would not open them. Nothing was changed.

    Or an erasure would destroy a key that another bag may need, which is damaged, or whose receipt was not given.

    Remedy: collect the person's receipts, `edna.unlock(..., receipts=[...])` with all of them, and say `receipts_complete=True`.
    If it was said, a disguise with `unlocked=` has noted one that is missing all the same; `leave_damaged=True` gives up what it leads to.
    """


# --- sealed bags ------------------------------------------------------------------------------------------------------


class BagError(EdnaError):
    """Cause: a sealed bag was refused, as a whole. It is kept as evidence and nothing was changed.

    Remedy: see the leaf. All but `WrongKey`, and those of policies, mean that the stored bytes are not the ones that edna wrote:
    restore the bag from a backup, and find out who wrote to the table.
    """


class BagTruncated(BagError):
    """Cause: the sealed bytes end before the length that their header announces.

    Remedy: restore the bag from a backup; look for a column type or a transport that cuts long values.
    """


class BagTrailingBytes(BagError):
    """Cause: there are bytes after the end that the header announces.

    Remedy: restore the bag from a backup; look for a column type or a transport that pads values.
    """


class BagTooLarge(BagError):
    """Cause: the bag, or what it would expand to, exceeds the limits of `docs/format.md`.

    Remedy: on disguising, lower `EDNA["CHUNK_ROWS"]`; on revealing, treat the bag as hostile.
    """


class BagVersionUnknown(BagError):
    """Cause: the container's version byte is none that this release reads, or it was changed.

    Remedy: if a newer release wrote the bag, upgrade; otherwise restore it from a backup.
    """


class BagSuiteUnknown(BagError):
    """Cause: the container's cipher suite or a recipient stanza is of a kind that this release does not know, or it
    was changed.

    Remedy: if a newer release wrote the bag, upgrade; otherwise restore it from a backup.
    """


class WrongKey(BagError):
    """Cause: the bag is not sealed to this key, or the stanza that was for it was changed.

    Remedy: open it with the key of the principal to whom it was sealed; after a rotation that is the new key.
    """


class BagCorrupt(BagError):
    """Cause: the body does not authenticate, its padding is wrong, or its content does not decode.

    Remedy: restore the bag from a backup.
    """


class BagMisplaced(BagError):
    """Cause: the bag opens, but it was sealed for another place: somebody swapped or replayed bags.

    Remedy: restore the bag from a backup; find out who wrote to the table.
    """


class BagMissing(BagError):
    """Cause: a disguise that fills several bags lacks one of them; what the others hold is not the whole.

    Remedy: restore the missing bag from a backup; find out who deleted from the table.
    """


class BagForged(BagError):
    """Cause: the server's MAC inside the bag does not verify: somebody without a MAC key made or edited it.

    Remedy: if `EDNA["MAC_KEYS"]` was changed, put the old key back into the list (behind the new one); otherwise treat
    the bag as an attack and restore it from a backup.
    """


class PolicyError(BagError):
    """Cause: a bag has a policy seal besides its own, which this process does not open now. The bag was not touched; nothing is damaged.

    Remedy: see the leaf. What waits for it can be done later, or elsewhere.
    """


class PolicyNotSatisfied(PolicyError):
    """Cause: this process is not one that the policy of a bag allows to open it, or has no way to attest; or a stanza of the policy
    seal was changed.

    Remedy: have it done by a worker with the right attributes. The message says which this one has.
    """


class CredentialExpired(PolicyError):
    """Cause: this process's credential is over, so that it opens no policy seal. The bag was not touched.

    Remedy: attest again.
    """


class EpochExpired(PolicyError):
    """Cause: a bag's policy seal is of an epoch that the monitor has closed. The bag was not touched.

    Remedy: let the monitor open that epoch again, and seal again what is of it.
    """


class MonitorUnavailable(PolicyError):
    """Cause: this process has no credential, and the monitor cannot be reached, or does not answer in time. The bag was not touched.

    Remedy: try again once the monitor answers. Who has a credential works on until it expires.
    """


class PolicySealForged(BagError):
    """Cause: a bag's policy seal was changed, or the bag lies in another place than it was sealed for.

    Remedy: restore the bag from a backup; find out who wrote to the table.
    """


# --- programming errors that would leak or lose something -------------------------------------------------------------


class SecretKeyLeak(EdnaError, TypeError):
    """Cause: code tried to pickle, copy or serialise a secret (a session, a cache, a task argument, a `deepcopy`).

    Remedy: hand over the receipt or the identifier and unlock where the secret is needed. `expose()` is the only way
    to the bytes. It is a `TypeError` too, because that is what serialisers catch and report for things they cannot
    encode.
    """


class ValueNotEncodable(EdnaError, TypeError):
    """Cause: a database value, or a parameter, is of a type that the record format does not know. Nothing was written.

    Remedy: `.model`, `.field` and `.value_type` say where it was met, as far as that is known; give the field a
    `get_db_prep_value` that returns one of the types of `docs/format.md` (text, bytes, numbers, dates, UUID, lists and
    dictionaries of them). The value itself is never in the message.
    """

    def __init__(self, message: str = "", *, model: str = "", field: str = "", value_type: str = "") -> None:
        super().__init__(message)
        self.model = model
        self.field = field
        self.value_type = value_type


class SessionClosed(EdnaError):
    """Cause: an `edna.session` was used after its `with` block had ended, when its bags were written already.

    Remedy: do everything inside the block; open another session for what comes later.
    """


# --- jobs -------------------------------------------------------------------------------------------------------------


class JobError(EdnaError):
    """Cause: something was asked of a job that it cannot do.

    Remedy: see the leaf.
    """


class JobUnknown(JobError):
    """Cause: there is no job of that number.

    Remedy: `manage.py edna_jobs` lists them.
    """


class JobRefused(JobError):
    """Cause: the disguise cannot be applied by a job, or the job is not in a state for what was asked of it. Nothing was changed.

    Remedy: the message says which.
    """


class JobForged(JobError):
    """Cause: a job, or an item of its list, does not carry this site's tag: it was written or changed past edna, or under a server key
    that is not in `EDNA["MAC_KEYS"]` now. It is not done, and stays in the table as evidence.

    Remedy: put a missing key back into `EDNA["MAC_KEYS"]`. Otherwise find out who wrote to the table, then delete the rows; if the
    job is right as it is, `manage.py edna_vouch --job` says so.
    """


class HoldRefused(EdnaError):
    """Cause: a legal hold cannot be placed or lifted as it was asked for. Nothing was changed.

    Remedy: the message says why; `manage.py edna_hold list` shows the holds, and `edna_expire --dry-run` the buckets.
    """


class AppendOnly(EdnaError):
    """Cause: code tried to change or delete an entry of the audit trail. Nothing was changed.

    Remedy: leave it; note what happened since as a further entry (`edna.operations.audit.note`).
    """


# --- moving and restoring --------------------------------------------------------------------------------------------


class TransferError(EdnaError):
    """Cause: edna's tables could not be written to a file, or filled from one. Nothing was changed.

    Remedy: see the leaf.
    """


class FileRefused(TransferError):
    """Cause: a file to write exists already; or a file to read is none of edna's, is of another release or site, or was cut off or
    edited. Nothing was changed.

    Remedy: the message says which.
    """


class TablesNotEmpty(TransferError):
    """Cause: an import found rows in edna's tables, which it would mix with others. Nothing was changed.

    Remedy: import into a database that was just migrated, before anybody uses it.
    """


class ScrubRefused(EdnaError):
    """Cause: scrubbing was asked for inside a transaction, in which tables cannot be rewritten. Nothing was changed.

    Remedy: call it outside of any, or run `manage.py edna_scrub`.
    """


# --- files ------------------------------------------------------------------------------------------------------------


class StorageFailed(EdnaError):
    """Cause: the storage of a file that a row names could not be read, so that its content cannot be sealed. Nothing was changed.

    Remedy: see whether the storage can be reached, and with which rights; then try again. The message names the row and the
    field, never the file.
    """


# --- the outcome of a run ---------------------------------------------------------------------------------------------


class RevealRefused(EdnaError):
    """Cause: `allow_partial=False` was asked for, and some row cannot be revealed now. Nothing was changed.

    Remedy: `.outcome.held` says which rows and why; resolve them (for example with `overrides`), or allow a partial
    reveal.
    """

    def __init__(self, message: str = "", *, outcome: object = None) -> None:
        super().__init__(message)
        self.outcome = outcome


class ErasureRefused(EdnaError):
    """Cause: what was to be erased for good is under a legal hold. Nothing was changed.

    Remedy: tell the person that it is kept, and why; erase it once the hold is lifted (`manage.py edna_hold`).
    """


class RequestRefused(EdnaError):
    """Cause: a request to `api/1/` is not as it has to be: of another method or content type, too long, no JSON object, a field missing
    or of another type, no CSRF token, from another site, or of nobody who is logged in. `.status` is the HTTP status. Nothing was changed.

    Remedy: send what docs/browser.md says, from a page of the site itself; the modules in `edna/static/edna/js` do.
    """

    def __init__(self, message: str = "", *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class DatabaseBusy(EdnaError):
    """Cause: the database kept reporting deadlocks or lock time-outs until the bounded retries were exhausted; or somebody would return
    while sessions of people who left wait to be ended, and what keeps sessions does not answer; or one of several databases is away, and no
    other has the key that is looked for.

    Remedy: try again later; look for long transactions on the same rows. Nothing was changed.
    """


class TooBusy(EdnaError):
    """Cause: more requests ask edna for work than `EDNA["REQUEST_RATE_PER_SECOND"]` allows. Nothing was read or changed.

    Remedy: try again after `.retry_after_seconds`. If it happens to ordinary visitors, raise the setting.
    """

    def __init__(self, message: str = "", *, retry_after_seconds: int = 1) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds
