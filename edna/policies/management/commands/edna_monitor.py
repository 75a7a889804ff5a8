"""``manage.py edna_monitor``: run a monitor; certify what it shall believe; and see how this process stands."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nacl.signing
from django.core.management.base import CommandError, CommandParser

from edna import conf, policy_seals
from edna.custody.policies.attributes import building, library
from edna.custody.policies.certificates import Certificate, Certifiers
from edna.custody.policies.evidence import ManifestProver, manifest
from edna.custody.policies.language import Policy, check_attribute
from edna.custody.policies.process.client import MonitorClient
from edna.custody.policies.process.monitor import Monitor
from edna.custody.policies.signing import to_base64
from edna.custody.policies.tpm import PCRS, TpmProver, TpmVerifier
from edna.management.base import PARTIAL, REFUSED, EdnaCommand, usage
from edna.management.listening import add_socket_arguments
from edna.policies import accepting, files, serving

_DAY_SECONDS = 24 * 3600


class Command(EdnaCommand):
    help = (
        "Policies: which processes may open which bags. A monitor gives those that attest the keys of what they satisfy.\n\n"
        "Who runs the monitor: init, policies, clauses, attributes, trust, accept, epoch, serve, clone, status. Who certifies or "
        "deploys: key, certify, manifest. On a worker: status, tpm, library."
    )
    examples = (
        "  manage.py edna_monitor init --folder monitor\n"
        "  manage.py edna_monitor policies --folder monitor\n"
        "  manage.py edna_monitor clauses --folder monitor --output clauses.json\n"
        "  manage.py edna_monitor key --output certifier.key\n"
        "  manage.py edna_monitor trust --folder monitor --certifier KEY --for region --for role\n"
        "  manage.py edna_monitor manifest --key deployer.key --worker KEY --measured build=91c0 --output worker.manifest\n"
        "  manage.py edna_monitor certify --key certifier.key --measurement build=91c0 --attribute build=1.2 --days 90 "
        "--output build.cert\n"
        "  manage.py edna_monitor accept --folder monitor build.cert\n"
        "  manage.py edna_monitor trust --folder monitor --distrust KEY\n"
        "  manage.py edna_monitor serve --folder monitor --listen 127.0.0.1:8600\n"
        "  manage.py edna_monitor --json status"
    )

    statuses = "0 done, 1 refused, 2 wrong usage, 3 status alone: this process lacks a policy"

    # Long: what the actions take, one after the other. Nothing is decided here.
    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(
            dest="action", required=True, metavar="ACTION", parser_class=argparse.ArgumentParser
        )

        def action(name: str, text: str, *, folder: bool = True) -> argparse.ArgumentParser:
            made = actions.add_parser(name, help=text, description=text)
            if folder:
                made.add_argument("--folder", type=Path, required=True, help="Where the monitor's store lies.")
            return made

        action("init", "Make a monitor's keys, and print its public key.")
        action("policies", 'Tell the monitor the policies of EDNA["POLICIES"].')
        action("clauses", "Write the signed list of clauses, for all that seal.").add_argument(
            "--output", type=Path, required=True
        )
        action(
            "attributes",
            "Write the signed parameters of policies by attributes, for all that seal. Makes their master key if there is none.",
        ).add_argument("--output", type=Path, required=True)
        action("library", "Build the library of policies by attributes. Takes Go and a C compiler.", folder=False)
        trust = action("trust", "Trust, or distrust, who certifies or signs manifests.")
        for name in ("--certifier", "--deployer"):
            trust.add_argument(name, metavar="KEY", help="A public key, as key prints it.")
        trust.add_argument(
            "--distrust",
            metavar="KEY",
            help="That of a certifier or a deployer who is trusted no more; it stands alone.",
        )
        trust.add_argument(
            "--for", dest="names", action="append", default=[], metavar="ATTRIBUTE", help="For these alone."
        )
        action("accept", "Take certificates.").add_argument("certificate", type=Path, nargs="+")
        epoch = action(
            "epoch", "Begin an epoch: other keys for all clauses. Of former epochs, seals still open as --keep says."
        )
        epoch.add_argument("--keep", type=int, action="append", help="By default, of the one that ends.")
        epoch.add_argument(
            "--close-former", action="store_true", help="Of none: what was not sealed again opens no more."
        )
        serve = action("serve", "Run the monitor until it is asked to stop.")
        serve.add_argument("--listen", default="127.0.0.1:8600", metavar="HOST:PORT")
        add_socket_arguments(serve, beside="workers that certificates are about")
        serve.add_argument(
            "--credential-hours", type=int, default=24, help="How long a credential lasts (default: 24)."
        )
        serve.add_argument("--tpm", action="store_true", help="Take quotes of TPMs as well; takes the extra tpm.")
        clone = action("clone", "Become the clone of another monitor, in a new folder.")
        clone.add_argument("--address", required=True)
        clone.add_argument("--public-key", required=True, metavar="KEY", help="Of the other monitor.")
        clone.add_argument("--certificate", type=Path, metavar="FILE")
        clone.add_argument("--manifest", type=Path, required=True)
        clone.add_argument("--key", type=Path, required=True, metavar="FILE", help="The key that the manifest names.")
        action("key", "Make a key that signs, and print its public half.", folder=False).add_argument(
            "--output", type=Path, required=True
        )
        certify = action("certify", "Sign what a measurement stands for.", folder=False)
        certify.add_argument("--measurement", required=True, metavar="KIND=VALUE")
        certify.add_argument("--attribute", action="append", default=[], metavar="NAME=VALUE")
        certify.add_argument("--days", type=int, required=True)
        signed = action("manifest", "Sign what a worker is; not hardware.", folder=False)
        signed.add_argument("--worker", required=True, metavar="KEY", help="The worker's public key, as key prints it.")
        signed.add_argument("--measured", action="append", default=[], metavar="KIND=VALUE")
        for each in (certify, signed):
            each.add_argument("--key", type=Path, required=True, metavar="FILE")
            each.add_argument("--output", type=Path, required=True)
        tpm = action(
            "tpm", "What this machine's TPM is measured as: its key, and its registers as they are now.", folder=False
        )
        tpm.add_argument("--at", default="device:/dev/tpmrm0", metavar="TPM", help="Where it is, as the TSS says it.")
        tpm.add_argument("--registers", default=PCRS, help="Which PCRs (default: %(default)s).")
        status = action("status", "How a monitor stands; without --folder, how this process stands.", folder=False)
        status.add_argument("--folder", type=Path)
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        actions: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "init": self._init,
            "policies": self._policies,
            "clauses": self._clauses,
            "attributes": self._attributes,
            "library": self._library,
            "trust": self._trust,
            "accept": self._accept,
            "epoch": self._epoch,
            "serve": self._serve,
            "clone": self._clone,
            "key": self._key,
            "certify": self._certify,
            "manifest": self._manifest,
            "tpm": self._tpm,
            "status": self._status,
        }
        told = actions[options["action"]](options)
        if options["json"]:
            self.print_json(told)
        for name, value in told.items() if not options["json"] else ():
            self._tell(name.replace("_", " "), _day(value) if name.endswith("_at") else value)
        if told.get("problem") or told.get("lacks"):
            raise CommandError("This process opens no bags of the policies that it lacks.", returncode=PARTIAL)

    def _tell(self, name: str, value: Any) -> None:
        if not isinstance(value, (list, dict)) or len(value) < 2:
            self.stdout.write(f"{name}: {_text(value)}")
            return
        self.stdout.write(f"{name}:")
        lines = [f"{each}: {said}" for each, said in value.items()] if isinstance(value, dict) else map(_text, value)
        for line in lines:
            self.stdout.write(f"  {line}")

    def _init(self, options: dict[str, Any]) -> dict[str, Any]:
        store = serving.store_in(options["folder"], new=True)
        Monitor.create(store)
        return {"public_key": to_base64(Monitor(store, clock=time.time).public_key)}

    def _policies(self, options: dict[str, Any]) -> dict[str, Any]:
        policies = {name: text for name, text in conf.policies().items() if name not in conf.policies_by_attributes()}
        read = {name: Policy.parse(text) for name, text in policies.items()}
        store = serving.store_in(options["folder"])
        clauses = {clause for policy in read.values() for clause in policy.clauses}
        former = {clause for text in store.policies().values() for clause in Policy.parse(text).clauses}
        store.put_policies(policies)
        serving.tell_change(options["folder"])
        if gone := former - clauses:
            self.stderr.write(
                f"{len(gone)} of the former clauses are in no policy any more: what was sealed to them alone opens for nobody. "
                'While there are such bags, keep the former text in EDNA["POLICIES"] under a name of its own, and say this again.'
            )
        self._say_lacking(options["folder"])
        return {name: len(policy.clauses) for name, policy in read.items()}

    def _say_lacking(self, folder: Path) -> None:
        for said in accepting.lacks(serving.store_in(folder)):
            self.say(said)

    def _clauses(self, options: dict[str, Any]) -> dict[str, Any]:
        monitor = serving.monitor_in(options["folder"])
        files.write_signed(options["output"], monitor.clauses())
        clauses = {clause for policy in monitor.policies.values() for clause in policy.clauses}
        return {"epoch": monitor.epochs.present, "clauses": len(clauses)}

    def _attributes(self, options: dict[str, Any]) -> dict[str, Any]:
        monitor = serving.monitor_in(options["folder"])
        monitor.create_attributes()
        serving.tell_change(options["folder"])
        files.write_signed(options["output"], monitor.parameters(), is_private=True)
        return {"epoch": monitor.epochs.present}

    def _library(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"library": str(building.build(library.place()))}

    def _trust(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["deployer"] and options["names"]:
            raise usage("--for goes with --certifier: who deploys says what was measured, and no attributes.")
        named = [kind for kind in ("certifier", "deployer", "distrust") if options[kind]]
        if "distrust" in named and len(named) > 1:
            raise usage(
                "--distrust KEY stands alone, for a deployer's key as for a certifier's: first say whom to trust no more, then whom to "
                "trust."
            )
        # All of them before anything is changed.
        keys = {kind: files.public_key_of(options[kind], given_as=f"--{kind}") for kind in named}
        store = serving.store_in(options["folder"])
        told = {}
        for kind, key in keys.items():
            if kind != "distrust":
                store.trust(key, kind, options["names"])
                told[kind] = options[kind]
                continue
            if key not in {**store.trusted("certifier"), **store.trusted("deployer")}:
                raise CommandError("Nobody with this key is trusted, so nothing was changed.", returncode=REFUSED)
            store.distrust(key)
            told["distrusted"] = options["distrust"]
        if not told:
            raise usage("Name somebody: --certifier, --deployer or --distrust, each with a key.")
        serving.tell_change(options["folder"])
        return told

    def _accept(self, options: dict[str, Any]) -> dict[str, Any]:
        store = serving.store_in(options["folder"])
        certifiers = Certifiers(store.trusted("certifier"))
        texts = [accepting.certificate(path, certifiers) for path in options["certificate"]]
        store.put_certificates(texts)
        serving.tell_change(options["folder"])
        self._say_lacking(options["folder"])
        return {"accepted": len(texts)}

    def _epoch(self, options: dict[str, Any]) -> dict[str, Any]:
        keep = [] if options["close_former"] else options["keep"]
        epochs = serving.monitor_in(options["folder"]).begin_epoch(keep=keep)
        serving.tell_change(options["folder"])
        return {"epoch": epochs.present, "former": list(epochs.former)}

    def _serve(self, options: dict[str, Any]) -> dict[str, Any]:
        host, _, port = options["listen"].rpartition(":")
        if not host or not port.isascii() or not port.isdigit():
            raise usage("--listen is HOST:PORT.")
        lasts, verifiers = options["credential_hours"] * 3600, [TpmVerifier.checked()] if options["tpm"] else []
        monitor = serving.monitor_in(options["folder"], credential_seconds=lasts, verifiers=verifiers)
        if monitor.has_attributes:
            library.require()
        tls = serving.tls_of(options["certificate"], options["certificate_key"])
        profile = serving.profile_of(options["profile"], options["peer"], monitor=monitor)
        ready = self._say_ready
        serving.serve(monitor, options["folder"], (host, int(port)), tls=tls, profile=profile, ready=ready)
        return {"served": True}

    def _say_ready(self, port: int) -> None:
        self.say(f"The monitor listens on port {port}.")

    def _clone(self, options: dict[str, Any]) -> dict[str, Any]:
        certificate = files.read(options["certificate"]) if options["certificate"] else ""
        monitor = files.public_key_of(options["public_key"], given_as="--public-key")
        key = files.read_key(options["key"])
        client = MonitorClient(options["address"], monitor=monitor, certificate=certificate, key=key)
        prover = ManifestProver(files.read(options["manifest"]), key)
        client.clone(prover, serving.store_in(options["folder"], new=True))
        return {"cloned": options["public_key"]}

    def _key(self, options: dict[str, Any]) -> dict[str, Any]:
        key = nacl.signing.SigningKey.generate()
        files.write_key(options["output"], key)
        return {"public_key": to_base64(bytes(key.verify_key))}

    def _certify(self, options: dict[str, Any]) -> dict[str, Any]:
        attributes = frozenset(check_attribute(*_pair(each)) for each in options["attribute"])
        made = Certificate(_pair(options["measurement"]), attributes, int(time.time()) + options["days"] * _DAY_SECONDS)
        options["output"].write_text(made.signed(files.read_key(options["key"])), encoding="ascii")
        return {"certificate": str(options["output"]), "expires_at": made.expires_at}

    def _manifest(self, options: dict[str, Any]) -> dict[str, Any]:
        measured = dict(_pair(each) for each in options["measured"])
        if len(measured) < len(options["measured"]):
            raise usage("A --measured was given twice; name each kind once.")
        worker, key = files.public_key_of(options["worker"], given_as="--worker"), files.read_key(options["key"])
        options["output"].write_text(manifest(worker, measured, key=key), encoding="ascii")
        return {"manifest": str(options["output"]), "hardware": False}

    def _tpm(self, options: dict[str, Any]) -> dict[str, Any]:
        return dict(TpmProver(options["at"], options["registers"]).measured())

    def _status(self, options: dict[str, Any]) -> dict[str, Any]:
        if options["folder"] is None:
            stands = policy_seals.standing()
            if stands is None:
                return {"policies": {}}
            return {
                "policies": dict(conf.policies()),
                "attested_as": stands.attested_as,
                "problem": stands.problem,
                "evidence": stands.evidence,
                "attested_at": stands.attested_at,
                "expires_at": stands.expires_at,
                "epochs": list(stands.epochs),
                "lacks": list(stands.lacks),
                "satisfies": [name for name in conf.policies() if not stands.problem and name not in stands.lacks],
                "opened": stands.opened,
                "refused": stands.refused,
            }
        store = serving.store_in(options["folder"])
        monitor = Monitor(store, clock=time.time)
        return {
            "public_key": to_base64(monitor.public_key),
            "epoch": monitor.epochs.present,
            "former": list(monitor.epochs.former),
            "policies": dict(store.policies()),
            "by_attributes": monitor.has_attributes,
            "certificates": len(store.certificates()),
            "certifiers": [to_base64(key) for key in store.trusted("certifier")],
            "deployers": [to_base64(key) for key in store.trusted("deployer")],
            "lacking": list(accepting.lacks(store)),
            "audit": [{"at": at, "what": what, "about": about} for at, what, about in store.audit(most=20)],
        }


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise usage(f"{text} is not NAME=VALUE.")
    return name, value


def _text(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"at", "what", "about"}:
        return f"{_day(value['at'])}  {value['what']}  {value['about']}".rstrip()
    if isinstance(value, dict):
        return "; ".join(f"{name}: {each}" for name, each in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(_text(each) for each in value) or "none"
    return str(value) or "none"


def _day(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC" if seconds else "none"
