"""A monitor: has the master key, and gives each worker the keys of the clauses that it satisfies, and no others.

Keeps: a nonce is used once, and soon. A credential is sealed to the session key that the evidence is about, and signed. What is
computed for a set of attributes is computed once (as Excalibur does). Does not know: bags, how it is reached.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import nacl.bindings
import nacl.signing
from nacl.exceptions import CryptoError

from edna.crypto.keys import PublicKey, derive
from edna.custody.policies.attributes import library
from edna.custody.policies.attributes.parameters import AttributeKey, Parameters, Veil
from edna.custody.policies.batches import Batches
from edna.custody.policies.certificates import Certified, Certifiers
from edna.custody.policies.clauses import ClauseList, MasterKey, clause_key
from edna.custody.policies.evidence import NONCE_BYTES, WORKER, ManifestVerifier, Said, Verifier
from edna.custody.policies.language import Attribute, Policy
from edna.custody.policies.process.store import Store
from edna.custody.policies.signing import signed_text, to_base64
from edna.custody.sockets.handshake import ServerProfile
from edna.custody.sockets.profiles import Profile
from edna.errors import (
    ConfigurationError,
    EvidenceForged,
    KeyMalformed,
    NonceRefused,
    PolicyNotSatisfied,
)

NONCE_LASTS_SECONDS: Final = 120
CREDENTIAL_LASTS_SECONDS: Final = 24 * 3600
_MOST_NONCES: Final = 100_000
_MOST_CACHED: Final = 1000
CREDENTIAL: Final = b"edna policies credential 1\n"
CLONE: Final = b"edna policies clone 1\n"
QUOTE: Final = b"edna policies quote 1\n"
#: In the store of a monitor that knows policies by attributes.
OF_ATTRIBUTES: Final = ("attribute_master", "attribute_parameters")
#: What another monitor must be to become a clone.
CLONES: Final = "monitor"


@dataclass(frozen=True, slots=True)
class Epochs:
    """The present one, and those before it whose seals still open."""

    present: int
    former: tuple[int, ...]


#: Epochs, keys of clauses, and the key of attributes.
_Keys = tuple[Epochs, list[dict[str, Any]], AttributeKey | None]


class Monitor:
    """One monitor. ``verifiers`` are the kinds of evidence that it takes beside manifests; ``quote`` makes what stands beside its own
    signature over the root of a batch: a quote of hardware, if there is some."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Callable[[], float],
        verifiers: Iterable[Verifier] = (),
        quote: Callable[[bytes], str] = lambda root: "",
        credential_seconds: int = CREDENTIAL_LASTS_SECONDS,
    ) -> None:
        self._store, self._clock, self._hardware_quote = store, clock, quote
        self._credential_seconds = credential_seconds
        self._others = list(verifiers)
        self._lock = threading.Lock()
        self._nonces: OrderedDict[bytes, float] = OrderedDict()
        self._batches: Batches | None = None
        self.reload()

    @staticmethod
    def create(store: Store) -> None:
        """Make a new monitor's keys.

        Raises: ConfigurationError if there are some.
        """
        if store.value("master") is not None:
            raise ConfigurationError("This store has a monitor's keys already.")
        store.put_value("signing", bytes(nacl.signing.SigningKey.generate()))
        store.put_value("master", secrets.token_bytes(MasterKey.SIZE))
        store.put_value("epochs", b'{"present": 1, "former": []}')

    def create_attributes(self) -> None:
        """Make the master key of policies by attributes, if there is none. Credentials have a key of attributes from then on.

        Raises: ConfigurationError if the library is missing.
        """
        if self._store.value(OF_ATTRIBUTES[0]) is None:
            public, master = library.setup()
            # The master key last: without it there is none yet.
            self._store.put_value(OF_ATTRIBUTES[1], public)
            self._store.put_value(OF_ATTRIBUTES[0], master.expose())
        self.reload()

    def reload(self) -> None:
        """Read the store again: policies, certificates, whom to trust, epochs."""
        signing, master, epochs = (self._store.value(name) for name in ("signing", "master", "epochs"))
        if signing is None or master is None or epochs is None:
            raise ConfigurationError("This store has no monitor's keys: make some first.")
        self._key, self._master = nacl.signing.SigningKey(signing), MasterKey(master)
        of_attributes = self._store.value(OF_ATTRIBUTES[0])
        self._attribute_master = None if of_attributes is None else library.AttributeMaster(of_attributes)
        said = json.loads(epochs)
        self.epochs = Epochs(said["present"], tuple(said["former"]))
        self.policies = {name: Policy.parse(text) for name, text in self._store.policies().items()}
        self._clauses = sorted({clause for policy in self.policies.values() for clause in policy.clauses})
        self._certifiers = Certifiers(self._store.trusted("certifier"))
        self._certified = Certified.of(self._store.certificates(), certifiers=self._certifiers)
        manifests: Verifier = ManifestVerifier(frozenset(self._store.trusted("deployer")))
        self._verifiers = {verifier.kind: verifier for verifier in (manifests, *self._others)}
        # Last: see `_keys_of`.
        self._cached: OrderedDict[frozenset[Attribute], _Keys] = OrderedDict()

    def close(self) -> None:
        if self._batches is not None:
            self._batches.close()
        self._store.close()

    @property
    def public_key(self) -> bytes:
        """By which everybody recognises what the monitor has signed."""
        return bytes(self._key.verify_key)

    def socket_profile(self, profile: Profile, *, peers: frozenset[bytes] | None) -> ServerProfile:
        """How it is spoken to: by workers that some certificate is about, and by ``peers``; None: by whoever comes."""
        if peers is None:
            return ServerProfile(profile, self._key, None)
        return ServerProfile(profile, self._key, lambda key: key in peers or self._is_worker(key))

    def _is_worker(self, key: bytes) -> bool:
        return (WORKER, to_base64(key)) in self._certified.by_measurement

    def clauses(self) -> str:
        """The signed list of the present epoch."""
        epochs = self.epochs
        made = ClauseList.make(
            self._clauses, epoch=epochs.present, former=epochs.former, master=self._master, key=self._key
        )
        return made.signed(self._key)

    def parameters(self) -> str:
        """The signed parameters of policies by attributes, in the present epoch.

        Raises: ConfigurationError if there are none.
        """
        public, epochs = self._store.value(OF_ATTRIBUTES[1]), self.epochs
        if public is None or not self.has_attributes:
            raise ConfigurationError("This monitor has no master key of attributes: edna_monitor attributes makes one.")
        return Parameters(epochs.present, epochs.former, public, self._veil()).signed(self._key)

    @property
    def has_attributes(self) -> bool:
        """Whether it has a master key of policies by attributes."""
        return self._attribute_master is not None

    def _veil(self) -> Veil:
        return Veil(derive(self._master.expose(), purpose=b"edna.policy.veil", data=b""))

    def begin_epoch(self, *, keep: Iterable[int] | None = None) -> Epochs:
        """New keys for all clauses. Of former epochs, seals of those in ``keep`` still open (by default: the one that ends)."""
        ending = self.epochs.present
        former = (ending,) if keep is None else tuple(sorted(each for each in keep if each <= ending))
        self._store.put_value("epochs", json.dumps({"present": ending + 1, "former": former}).encode())
        self._note("epoch", f"{ending + 1}, still open: {', '.join(map(str, former)) or 'none'}")
        self.reload()
        return self.epochs

    def nonce(self) -> bytes:
        """A new one, for one attestation within the next minutes."""
        made, now = secrets.token_bytes(NONCE_BYTES), self._clock()
        with self._lock:
            while self._nonces and (
                len(self._nonces) >= _MOST_NONCES or next(iter(self._nonces.values())) <= now - NONCE_LASTS_SECONDS
            ):
                self._nonces.popitem(last=False)
            self._nonces[made] = now
        return made

    def _use(self, nonce: bytes) -> None:
        with self._lock:
            made_at = self._nonces.pop(nonce, None)
        if made_at is None or self._clock() > made_at + NONCE_LASTS_SECONDS:
            raise NonceRefused(
                "The monitor has not given out this nonce, or it was used, or that was long ago. Ask for another."
            )

    def attested(self, nonce: bytes, session_key: bytes, shown: Said) -> frozenset[Attribute]:
        """What somebody is who shows this. Uses up the nonce, whatever comes of it.

        Raises: NonceRefused, EvidenceForged, CertifierUnknown, MeasurementUnknown.
        """
        self._use(nonce)
        verifier = self._verifiers.get(str(shown.get("kind")))
        if verifier is None:
            raise EvidenceForged("The monitor takes no evidence of this kind.")
        measured = verifier.verify(shown, nonce, session_key)
        brought = []
        if verifier.brings_certificate and shown.get("certificate"):
            brought.append(self._certifiers.read(str(shown["certificate"])))
            if brought[0].measurement != measured[0]:
                raise EvidenceForged("The certificate that was brought along is about somebody else than who shows it.")
        return self._certified.attributes(measured, now=self._clock(), brought=brought)

    def credential(self, nonce: bytes, session_key: bytes, shown: Said) -> Mapping[str, Any]:
        """What only who has the secret half of ``session_key`` can read.

        Raises: as `attested`; PolicyNotSatisfied if no clause is satisfied.
        """
        attributes = self.attested(nonce, session_key, shown)
        epochs, keys, attribute_key = self._keys_of(attributes)
        if not keys and attribute_key is None:
            self._note("refused", _described(attributes))
            raise PolicyNotSatisfied(
                f"No clause of any policy is satisfied by a worker that is {_described(attributes)}."
            )
        said = {
            "keys": keys,
            "attributes": sorted([name, value] for name, value in attributes),
            "epochs": [*epochs.former, epochs.present],
            "expires_at": int(self._clock()) + self._credential_seconds,
            **({} if attribute_key is None else {"attribute_key": to_base64(attribute_key.expose())}),
        }
        self._note("credential", _described(attributes))
        return self._sealed(said, nonce, session_key, CREDENTIAL)

    def _keys_of(self, attributes: frozenset[Attribute]) -> _Keys:
        """With the epochs that they are of. `reload` may come in between: then they are kept where nobody looks any more."""
        with self._lock:
            cached = self._cached
            found = cached.get(attributes)
        if found is None:
            # After the cache, which `reload` puts in place last: nothing older than it gets in.
            epochs, clauses, of_attributes = self.epochs, self._clauses, self._attribute_master
            had = [clause for clause in clauses if clause.is_satisfied(attributes)]
            keys = [
                {"epoch": epoch, "clause": str(clause), "key": to_base64(key.expose())}
                for epoch in (*epochs.former, epochs.present)
                for clause in had
                for key in [clause_key(self._master, epoch=epoch, clause=clause)]
            ]
            key = None
            if of_attributes is not None and attributes:
                opens = (*epochs.former, epochs.present)
                key = AttributeKey.make(of_attributes, self._veil(), epochs=opens, attributes=attributes)
            found = epochs, keys, key
            with self._lock:
                cached[attributes] = found
                while len(cached) > _MOST_CACHED:
                    cached.popitem(last=False)
        return found

    def _sealed(self, said: Said, nonce: bytes, session_key: bytes, purpose: bytes) -> Mapping[str, Any]:
        try:
            box = nacl.bindings.crypto_box_seal(json.dumps(said).encode(), bytes(PublicKey(session_key)))
        except (KeyMalformed, CryptoError):
            raise EvidenceForged("The session key is none.") from None
        signature = bytes(self._key.sign(purpose + nonce + session_key + box).signature)
        return {"box": to_base64(box), "signature": to_base64(signature)}

    def clone(self, nonce: bytes, session_key: bytes, shown: Said) -> Mapping[str, Any]:
        """All that makes another monitor the same as this one, if it satisfies the policy that is called monitor.

        Raises: as `attested`; PolicyNotSatisfied.
        """
        attributes = self.attested(nonce, session_key, shown)
        policy = self.policies.get(CLONES)
        if policy is None or not policy.is_satisfied(attributes):
            self._note("refused", f"to clone: {_described(attributes)}")
            raise PolicyNotSatisfied(
                f"Who is {_described(attributes)} gets no clone: it takes a policy {CLONES} that they satisfy."
            )
        store = self._store
        names = ("signing", "master", "epochs", *(OF_ATTRIBUTES if self.has_attributes else ()))
        said = {
            "values": {name: to_base64(store.value(name) or b"") for name in names},
            "policies": dict(store.policies()),
            "certificates": list(store.certificates()),
            "trusted": [
                [kind, to_base64(key), sorted(of or ())]
                for kind in ("certifier", "deployer")
                for key, of in store.trusted(kind).items()
            ],
        }
        self._note("cloned", _described(attributes))
        return self._sealed(said, nonce, session_key, CLONE)

    def attest(self, nonce: bytes) -> Mapping[str, Any]:
        """Show somebody what this monitor is: a quote about a batch with their nonce in it, and the path."""
        with self._lock:
            if self._batches is None:
                self._batches = Batches(self.quote)
            batches = self._batches
        quote, path = batches.ask(nonce).result()
        return {
            "quote": quote,
            "number": path.number,
            "count": path.count,
            "path": [to_base64(each) for each in path.neighbours],
        }

    def quote(self, root: bytes) -> str:
        said = {"root": to_base64(root), "hardware": self._hardware_quote(root), "epoch": self.epochs.present}
        return signed_text(said, purpose=QUOTE, key=self._key)

    def _note(self, what: str, about: str) -> None:
        self._store.note(what, about=about, at=int(self._clock()))


def _described(attributes: Iterable[Attribute]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(attributes)) or "nothing"
