"""This process as a worker: it seals by the monitor's list, attests at the first need, and opens with the credential that it got.

Keeps: a credential is in memory alone. While it holds, nobody is asked; once it is over, or of former epochs, the monitor is asked once
more. A monitor that is away is not asked at each bag. Does not know: bags, whose they are.
"""

from __future__ import annotations

import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from edna import conf
from edna.custody.policies import seal
from edna.custody.policies.attributes import seal as by_attributes
from edna.custody.policies.attributes.parameters import Parameters
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.credentials import Credential, epoch_of
from edna.custody.policies.evidence import ManifestProver, Prover
from edna.custody.policies.language import Formula, Policy
from edna.custody.policies.process.client import MonitorClient
from edna.custody.policies.tpm import PCRS, TpmProver
from edna.errors import (
    AttributeParametersForged,
    ClauseListForged,
    ConfigurationError,
    EdnaError,
    EpochExpired,
    MonitorUnavailable,
    PolicyError,
    PolicyNotSatisfied,
    PolicySealForged,
)
from edna.policies import files
from edna.policy_seals import Standing

#: So long a monitor that could not be reached, or has refused, is not asked again.
PAUSE_SECONDS: Final = 5.0
#: What stands before the spelling of a policy by attributes, where bags are told it. No other spelling has a space.
_BY_ATTRIBUTES: Final = "by attributes: "


class Worker:
    """What `edna.policy_seals` asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._credential: Credential | None = None
        self._refused: tuple[float, EdnaError] | None = None
        #: By the clock that only goes on, and by that of the wall.
        self._attested_at, self._attested_on = 0.0, 0
        self._opened = self._refusals = 0
        #: What was shown last.
        self._evidence = ""
        #: Another kind of evidence than a manifest, if a site has one.
        self.prover: Prover | None = None

    def put_on(self, sealed: bytes, *, name: str, index: bytes) -> bytes:
        text = conf.policies().get(name)
        if text is None:
            raise ConfigurationError(f'EDNA["POLICIES"] has no policy {name!r}. Nothing was changed.')
        if name in conf.policies_by_attributes():
            return self._by_attributes(sealed, _formula(text), index)
        return seal.seal(sealed, policy=_policy(text), clauses=self._current_clauses(), index=index)

    def put_back(self, sealed: bytes, *, policy: str, index: bytes) -> bytes:
        if policy.startswith(_BY_ATTRIBUTES):
            return self._by_attributes(sealed, Formula.of_spelling(policy.removeprefix(_BY_ATTRIBUTES)), index)
        return seal.seal(sealed, policy=Policy.of_spelling(policy), clauses=self._current_clauses(), index=index)

    def _by_attributes(self, sealed: bytes, formula: Formula, index: bytes) -> bytes:
        return by_attributes.seal(sealed, formula=formula, parameters=self._current_parameters(), index=index)

    def _current_clauses(self) -> ClauseList:
        """The list, if nothing that this process knows says that it is over: an old one is signed as well as the new one.

        Raises: as `clauses`; ClauseListForged if the monitor has closed its epoch.
        """
        clauses = self.clauses()
        if self._is_closed(clauses.epoch):
            raise ClauseListForged(
                f"The list of clauses is of epoch {clauses.epoch}, which the monitor has closed since: what is sealed by it opens for "
                "nobody who attests now. Take the monitor's new list. Nothing was changed."
            )
        return clauses

    def _current_parameters(self) -> Parameters:
        """Likewise those of policies by attributes.

        Raises: as `parameters`; AttributeParametersForged if the monitor has closed their epoch.
        """
        parameters = self.parameters()
        if self._is_closed(parameters.epoch):
            raise AttributeParametersForged(
                f"The parameters of policies by attributes are of epoch {parameters.epoch}, which the monitor has closed since. Take "
                "the monitor's new ones. Nothing was changed."
            )
        return parameters

    def _is_closed(self, epoch: int) -> bool:
        """As far as this process knows."""
        held = self._credential
        return held is not None and bool(held.epochs) and epoch < held.epochs[-1] and epoch not in held.epochs

    def take_off(self, stored: bytes, *, index: bytes) -> tuple[str, bytes]:
        try:
            policy, container = self._open(stored, index)
        except ConfigurationError as error:
            self._refusals += 1
            raise PolicyNotSatisfied(
                f"This process opens no policy by attributes: {error} The bag was not touched."
            ) from error
        except (PolicyError, PolicySealForged):
            self._refusals += 1
            raise
        self._opened += 1
        return (f"{_BY_ATTRIBUTES}{policy}" if isinstance(policy, Formula) else str(policy)), container

    def _open(self, stored: bytes, index: bytes) -> tuple[Policy | Formula, bytes]:
        credential = self.credential()
        try:
            return credential.open(stored, index=index, now=time.time())
        except EpochExpired:
            # The monitor may have begun another since. Who has just asked knows: bags say anything about their epoch.
            if credential is self._credential and time.monotonic() < self._attested_at + PAUSE_SECONDS:
                raise
            newer = self._renewed(instead_of=credential)
            return newer.open(stored, index=index, now=time.time())

    def is_sound(self, beginning: bytes, length: int) -> bool:
        try:
            epoch_of(beginning, length)
        except PolicySealForged:
            return False
        return True

    def clauses(self) -> ClauseList:
        """
        Raises: ConfigurationError; ClauseListForged; ClauseKeyForged.
        """
        said = _monitor()
        return files.read_clauses(Path(said["CLAUSES"]), monitor=files.monitor_of(said))

    def parameters(self) -> Parameters:
        """
        Raises: ConfigurationError; AttributeParametersForged.
        """
        said = _monitor()
        if "ATTRIBUTES" not in said:
            raise ConfigurationError(
                'A policy by attributes takes the monitor\'s parameters, and EDNA["MONITOR"] names no ATTRIBUTES: edna_monitor attributes '
                "writes that file."
            )
        return files.read_parameters(Path(said["ATTRIBUTES"]), monitor=files.monitor_of(said))

    def credential(self) -> Credential:
        """The one that this process has; a new one, if it has none or that is over.

        Raises:
            MonitorUnavailable: the monitor does not answer.
            PolicyNotSatisfied: it has none for this process, or this process has nothing to show.
        """
        held = self._credential
        if held is not None and not held.is_expired(now=time.time()):
            return held
        return self._renewed(instead_of=held)

    def _renewed(self, *, instead_of: Credential | None) -> Credential:
        with self._lock:
            held = self._credential
            if held is not None and held is not instead_of:
                return held
            if self._refused is not None and time.monotonic() < self._refused[0] + PAUSE_SECONDS:
                raise self._refused[1].with_traceback(None)
            try:
                self._credential = self._attest()
            except MonitorUnavailable as error:
                self._refused = time.monotonic(), error
                raise
            except EdnaError as error:
                refused = PolicyNotSatisfied(f"This process gets no credential: {error} The bag was not touched.")
                self._refused = time.monotonic(), refused
                raise refused from error
            self._refused, self._attested_at, self._attested_on = None, time.monotonic(), int(time.time())
            return self._credential

    def _attest(self) -> Credential:
        said = _monitor()
        prover = self.prover or _prover(said)
        self._evidence = prover.described if prover is not None else ""
        if prover is None:
            raise ConfigurationError(
                'EDNA["MONITOR"] names no MANIFEST and no TPM, so that this process has nothing to show: it seals, and opens nothing.'
            )
        certificate = files.read(Path(said["CERTIFICATE"])) if "CERTIFICATE" in said else ""
        monitor = files.monitor_of(said)
        key = files.read_key(Path(said["WORKER_KEY"])) if "WORKER_KEY" in said else None
        client = MonitorClient(str(said["ADDRESS"]), monitor=monitor, certificate=certificate, key=key)
        return client.credential(prover, clauses=self.clauses())

    def forget(self) -> None:
        with self._lock:
            self._credential = self._refused = None
            self._opened = self._refusals = 0

    def standing(self) -> Standing:
        """Attests if that was not done."""
        try:
            held = self.credential()
        except EdnaError as error:
            problem = f"{type(error).__name__}: {error}"
            return Standing(
                "",
                problem,
                0,
                self._opened,
                self._refusals,
                tuple(conf.policies()),
                self._attested_on,
                evidence=self._evidence,
            )
        lacks = [name for name, text in conf.policies().items() if not _satisfies(held, name, text)]
        return Standing(
            held.described(),
            "",
            held.expires_at,
            self._opened,
            self._refusals,
            tuple(lacks),
            self._attested_on,
            held.epochs,
            self._evidence,
        )


worker: Final = Worker()


def attest() -> None:
    """Get a credential now, as a worker does at its start.

    Raises: as `Worker.credential`.
    """
    worker.credential()


def forget() -> None:
    """The credential of this process: its next need attests again."""
    worker.forget()


@lru_cache(maxsize=64)
def _policy(text: str) -> Policy:
    return Policy.parse(text)


@lru_cache(maxsize=64)
def _formula(text: str) -> Formula:
    return Formula.parse(text)


def _satisfies(held: Credential, name: str, text: str) -> bool:
    if name in conf.policies_by_attributes():
        return held.opens_by_attributes and _formula(text).is_satisfied(held.attributes)
    return _policy(text).is_satisfied(held.attributes)


def _monitor() -> Any:
    said = conf.monitor()
    if said is None:
        raise ConfigurationError('EDNA["POLICIES"] takes a monitor, and EDNA["MONITOR"] names none.')
    return said


def _prover(said: Any) -> Prover | None:
    if "TPM" in said:
        certificate = files.read(Path(said["TPM_CERTIFICATE"])) if "TPM_CERTIFICATE" in said else ""
        return TpmProver(str(said["TPM"]), str(said.get("TPM_REGISTERS", PCRS)), certificate)
    if "MANIFEST" not in said:
        return None
    return ManifestProver(files.read(Path(said["MANIFEST"])), files.read_key(Path(said["WORKER_KEY"])))
