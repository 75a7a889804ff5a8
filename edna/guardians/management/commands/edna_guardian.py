"""``manage.py edna_guardian``: run a guardian; and, for the site, have people's keys kept by guardians, and brought back.

Long because it is one command of many actions, each a function that says what came of it.
"""

from __future__ import annotations

import datetime
import getpass
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nacl.signing
import nacl.utils
from django.conf import settings
from django.core.management.base import CommandParser

from edna import api, conf, inner_door
from edna.custody.guardians import at_rest, quorum
from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.orders import CHALLENGE_BYTES, checked_status, plain
from edna.custody.guardians.process.policies import Tell
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.roster import Identity, Roster, to_base64
from edna.custody.guardians.schedule import GuardianSchedule
from edna.custody.guardians.sweep import Sweep
from edna.custody.sockets.profiles import Address
from edna.errors import CustodyError, EdnaError, QuorumUnavailable
from edna.guardians import files, serving
from edna.guardians.management.arguments import add_actions
from edna.guardians.management.conversation import confirm, given_codes, until_enough_help
from edna.guardians.upkeep import leftovers
from edna.management.base import (
    PARTIAL,
    EdnaCommand,
    asked,
    new_private_file,
    operator_of,
    read_stdin,
    usage,
    write_through,
)
from edna.management.credentials import check_usage, credentials
from edna.words import count


class Command(EdnaCommand):
    noted = True
    help = (
        "Guardians: processes of different parties. Some of them together help a person to their key again; none of them learns it.\n\n"
        "Who runs a guardian: new, serve, code, audit. Who runs the site: site-key, schedule, enroll, recover, veto, refresh, status."
    )
    examples = (
        "  manage.py edna_guardian new --folder guardian-1 --number 1 --address https://guardian.example:8443 "
        "--certificate tls.pem > 1.json\n"
        "  manage.py edna_guardian site-key --output site.key\n"
        "  manage.py edna_guardian schedule --site 'HotCRP of SOSP' --site-key site.key --threshold 3 --output roster.json "
        "1.json 2.json 3.json 4.json 5.json\n"
        "  manage.py edna_guardian serve --folder guardian-1 --roster roster.json --site-public-key KEY --policy waiting:48 "
        "--certificate tls.pem --certificate-key tls.key\n"
        "  manage.py edna_guardian enroll --roster roster.json --site-key site.key --contact bea@example.org --output bea.envelope "
        "--identifier bea\n"
        "  manage.py edna_guardian recover --roster roster.json --site-public-key KEY --output bea.key bea.envelope\n"
        "  manage.py edna_guardian refresh --roster roster.json --site-key site.key"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_actions(parser)
        super().add_arguments(parser)

    def run(self, options: dict[str, Any]) -> None:
        actions: Mapping[str, Callable[[dict[str, Any]], None]] = {
            "new": self._new,
            "serve": self._serve,
            "code": self._code,
            "audit": self._audit,
            "site-key": self._make_site_key,
            "schedule": self._schedule,
            "enroll": self._enroll,
            "recover": self._recover,
            "veto": self._veto,
            "seal-keys": self._seal_keys,
            "open-keys": self._open_keys,
            "forget": self._forget,
            "refresh": self._refresh,
            "status": self._status,
        }
        actions[options["action"]](options)

    # --- who runs a guardian ---

    def _new(self, options: dict[str, Any]) -> None:
        Address.parse(options["address"], whose="guardian")
        folder: Path = options["folder"]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        identity = Identity.new(options["number"])
        certificate = Path(options["certificate"]).read_text(encoding="utf-8") if options["certificate"] else ""
        files.write_identity(folder / "identity.json", identity)
        self.stdout.write(files.member_text(identity.member(options["address"], certificate=certificate)), ending="")

    def _serve(self, options: dict[str, Any]) -> None:
        listen = _host_and_port(options["listen"]) if options["listen"] else None
        mail_host, mail_port = ("", 0) if options["mail_server"] == "-" else _host_and_port(options["mail_server"])
        roster = self._signed_roster(options)
        tell = (
            serving.tell_by_mail(host=mail_host, port=mail_port, sender=options["mail_from"], site=roster.site)
            if mail_host
            else self._tell
        )
        guardian = self._guardian(options, policy=options["policy"], tell=tell)

        member = roster.member(guardian.number)
        profile = serving.profile_of(options["profile"], options["peer"], guardian=guardian)
        tls = serving.tls_of(options["certificate"], options["certificate_key"], member=member)
        host, port = serving.listening_at(member, listen, is_tls=tls is not None)

        def ready(port: int) -> None:
            self.say(f"Guardian {guardian.number} listens on {host} port {port}; others reach it at {member.address}.")

        serving.serve(guardian, (host, port), tls=tls, profile=profile, ready=ready)

    def _tell(self, contact: str, text: str) -> None:
        self.say(plain(f"To {contact}: {text}"))

    def _code(self, options: dict[str, Any]) -> None:
        guardian = self._guardian(options, policy="counter")
        self.stdout.write(guardian.issue_code(options["request"], contact=options["contact"]))
        self.say("Hand it to the person, who gives it on their page. It helps with that request alone.")

    def _audit(self, options: dict[str, Any]) -> None:
        entries = self._guardian(options, policy="counter").audit()
        if options["json"]:
            self.print_json({"entries": [{"at": at, "what": what, "about": about} for at, what, about in entries]})
            return
        for at, what, about in entries:
            when = datetime.datetime.fromtimestamp(at, datetime.UTC)
            self.stdout.write(f"{when:%Y-%m-%d %H:%M:%S} UTC  {what:<24}  {about}")

    @staticmethod
    def _signed_roster(options: dict[str, Any]) -> Roster:
        return files.read_roster(options["roster"], site_key=files.verify_key_of(options["site_public_key"]))

    def _guardian(self, options: dict[str, Any], *, policy: str, tell: Tell = lambda contact, text: None) -> Guardian:
        identity = files.read_identity(options["folder"] / "identity.json")
        roster = self._signed_roster(options)
        return serving.guardian_of(
            options["folder"], identity=identity, roster=roster, policy=serving.policy_of(policy, tell)
        )

    # --- who runs the site ---

    def _make_site_key(self, options: dict[str, Any]) -> None:
        key = nacl.signing.SigningKey.generate()
        files.write_site_key(Path(options["output"]), key)
        self.stdout.write(to_base64(bytes(key.verify_key)))

    def _schedule(self, options: dict[str, Any]) -> None:
        key = files.read_site_key(options["site_key"])
        members = [files.read_member(Path(each)) for each in options["member"]]
        times = options["attack_seconds"], options["restart_seconds"]
        if (times[0] is None) != (times[1] is None):
            raise usage("--attack-seconds and --restart-seconds go together.")
        plan = None if times[0] is None else GuardianSchedule(len(members), options["threshold"], *times)
        roster = Roster(members, options["threshold"], bytes(key.verify_key), plan, options["site"])
        Path(options["output"]).write_text(roster.signed(key), encoding="utf-8")
        self.stdout.write(
            f"{roster.threshold} of {roster.count} guardians are needed. {options['output']} goes to each of them."
        )
        if plan is not None:
            self.stdout.write(
                f"{plan.at_once} restart at once, for {plan.restart_seconds} s; each within {plan.attack_seconds} s."
            )

    def _enroll(self, options: dict[str, Any]) -> None:
        check_usage(options)
        roster, transport = self._reach(options)
        pin = _new_pin() if options["pin"] else ""
        with api.unlock(**credentials(options)) as unlocked, new_private_file(options["output"]) as file:
            try:
                enrolled = quorum.enrol(
                    inner_door.secret_key_of(unlocked).expose_with_kind(),
                    roster=roster,
                    transport=transport,
                    contact=options["contact"],
                    account=options["account"] or options["identifier"] or "",
                    pin=pin,
                    before=lambda envelope: write_through(file, envelope.text),
                )
            except EdnaError:
                Path(options["output"]).unlink()
                raise
            inner_door.note_act("enrolled at guardians", operator=operator_of(options))
        self.stdout.write(
            f"{options['output']} opens with the help of {roster.threshold} of {roster.count} guardians. Keep it on the site and with "
            "the person: it says nothing to anybody else."
        )
        for number, why in enrolled.missing.items():
            self.say(f"{QuorumUnavailable.said_by(number, why)} It has no share yet: 'refresh' gives it one.")

    def _recover(self, options: dict[str, Any]) -> None:
        roster = self._signed_roster(options)
        envelope, kept = files.read_envelope(Path(options["envelope"])), Path(options["request"])
        request = files.read_request(kept) if kept.exists() else None
        recovery = quorum.Recovery(envelope, roster=roster, transport=HttpTransport(roster), secret=request)
        if request is None:
            files.write_request(kept, recovery.secret)
        # Once more if others have displaced it: the same request.
        refused = recovery.open()
        if request is None:
            for member in roster.members:
                told = refused.get(member.number, f"your request there is {recovery.name(member.number)}")
                self.say(QuorumUnavailable.said_by(member.number, told))
        for number, code in given_codes(options):
            confirm(recovery, number, code, say=self.say)
        until_enough_help(recovery, roster, say=self.say)
        pin = read_stdin().rstrip("\r\n") if options["pin_stdin"] else ""
        if options["pin"]:
            pin = asked("PIN: ", getpass.getpass, instead="--pin-stdin")
        key = api.SecretKey.of_kind(recovery.finish(pin=pin))
        with new_private_file(options["output"]) as file:
            file.write(key.expose_text() + "\n")
        kept.unlink()
        self.stdout.write(
            f"{options['output']} holds the secret key. Set a new password with it (docs/guardians.md), and delete the file."
        )

    def _veto(self, options: dict[str, Any]) -> None:
        check_usage(options)
        roster = self._signed_roster(options)
        envelope = files.read_envelope(Path(options["envelope"]))
        with api.unlock(**credentials(options)) as unlocked:
            secret = inner_door.secret_key_of(unlocked).expose_with_kind()
            deaf = quorum.veto(secret, envelope, roster=roster, transport=HttpTransport(roster))
        for number, why in deaf.items():
            self.say(f"{QuorumUnavailable.said_by(number, why)} It has not heard it.")
        self.stdout.write(
            f"{roster.count - len(deaf)} of {roster.count} guardians refuse all requests, and take no other for a day."
        )
        if roster.count - len(deaf) <= roster.count - roster.threshold:
            raise SystemExit(PARTIAL)

    def _seal_keys(self, options: dict[str, Any]) -> None:
        roster, transport = self._reach(options)
        folder: Path = options["output"]
        if not getattr(settings, "EDNA", {}).get("MAC_KEYS"):
            raise usage('EDNA["MAC_KEYS"] is not set: there is no key of the server\'s own to seal.')
        texts = {name: text for name in options["also"] if isinstance(text := getattr(settings, name, None), str)}
        if wrong := sorted(set(options["also"]) - set(texts)):
            raise usage(f"{', '.join(wrong)}: only settings that are texts can be sealed.")
        folder.mkdir(mode=0o700, parents=True)
        kept = folder / at_rest.ENVELOPE
        try:
            enrolled = quorum.enrol(
                at_rest.packed(conf.mac_keys(), texts),
                roster=roster,
                transport=transport,
                contact=options["contact"],
                account="the server's keys",
                before=lambda envelope: kept.write_text(envelope.text),
            )
        except EdnaError:
            kept.unlink(missing_ok=True)
            folder.rmdir()
            raise
        recovery = quorum.Recovery(enrolled.envelope, roster=roster, transport=transport)
        files.write_request(folder / at_rest.REQUEST, recovery.secret)
        (folder / at_rest.ROSTER).write_text(options["roster"].read_text(encoding="utf-8"), encoding="utf-8")
        (folder / at_rest.SITE_KEY).write_text(to_base64(roster.site_key) + "\n")
        inner_door.note_act("sealed the server's keys to guardians", operator=operator_of(options))
        refused = recovery.open()
        for member in roster.members:
            number = member.number
            told = refused.get(number, f"the request there is {recovery.name(number)}; its operator gives out a code")
            self.say(QuorumUnavailable.said_by(number, told))
        self.stdout.write(
            f"{folder} opens with the help of {roster.threshold} of {roster.count} guardians. Give them the codes by open-keys; then take "
            "the keys out of the settings (docs/guardians.md), and keep a copy of them apart."
        )

    def _open_keys(self, options: dict[str, Any]) -> None:
        recovery = at_rest.recovery_of(options["folder"])
        recovery.open()
        for number, code in given_codes(options):
            confirm(recovery, number, code, say=self.say)
        until_enough_help(recovery, recovery.roster, say=self.say)
        keys = at_rest.unpacked(recovery.finish())
        self.stdout.write(
            f"{count(len(keys['MAC_KEYS']), 'key')} of the server, and {count(len(keys) - 1, 'other setting')}."
        )

    def _forget(self, options: dict[str, Any]) -> None:
        roster, transport = self._reach(options)
        envelope = files.read_envelope(Path(options["envelope"]))
        deaf = quorum.forget(envelope, roster=roster, transport=transport)
        inner_door.note_act("had guardians forget", operator=operator_of(options))
        for number, why in deaf.items():
            self.say(f"{QuorumUnavailable.said_by(number, why)} It has not heard it.")
        self.stdout.write(f"{roster.count - len(deaf)} of {roster.count} guardians keep nothing of it any more.")
        if deaf:
            raise SystemExit(PARTIAL)

    def _refresh(self, options: dict[str, Any]) -> None:
        roster, transport = self._reach(options)
        # First: whoever has forgotten it would be repaired by the others.
        forgotten, deaf = leftovers.finish_of(roster, transport)
        swept = Sweep(roster=roster, transport=transport).run()
        if options["json"]:
            self.print_json(
                {
                    "refreshed": swept.refreshed,
                    "finished": swept.finished,
                    "repaired": dict(swept.repaired),
                    "wrong": swept.wrong,
                    "left": len(swept.left),
                    "forgotten": forgotten,
                    "to_forget": deaf,
                }
            )
        else:
            if forgotten or deaf:
                self.stdout.write(
                    f"{count(forgotten, 'enrolment')} that nobody keeps: all guardians have forgotten it. {deaf} are left to be forgotten."
                )
            self.stdout.write(f"{count(swept.refreshed, 'enrolment')} refreshed.")
            for number, repaired in sorted(swept.repaired.items()):
                self.stdout.write(f"Guardian {number} was behind: {count(repaired, 'share')} repaired.")
            for number, why in sorted(swept.wrong.items()):
                self.say(QuorumUnavailable.said_by(number, why))
        if swept.left or swept.wrong or deaf:
            self.say(
                f"{count(len(swept.left), 'enrolment')} could not be refreshed; try again when all guardians are up."
            )
            raise SystemExit(PARTIAL)

    def _status(self, options: dict[str, Any]) -> None:
        roster, transport = self._reach(options)
        found: dict[int, Mapping[str, Any]] = {}
        for member in roster.members:
            try:
                challenge = nacl.utils.random(CHALLENGE_BYTES)
                answer = transport.ask(member.number, "/status", {"challenge": to_base64(challenge)}, ordered=True)
                found[member.number] = checked_status(answer, challenge=challenge, member=member)
            except CustodyError as error:
                found[member.number] = {"error": str(error)}
        up = sum("error" not in each for each in found.values())
        if options["json"]:
            self.print_json({"guardians": found, "up": up, "needed": roster.threshold})
        else:
            for number, each in found.items():
                epochs = ", ".join(f"{held} of epoch {epoch}" for epoch, held in each.get("epochs", {}).items())
                said = each.get("error") or f"{count(each['enrolments'], 'enrolment')} {epochs}".rstrip()
                self.stdout.write(QuorumUnavailable.said_by(number, said))
            self.stdout.write(f"{up} of {roster.count} answer, {roster.threshold} are needed.")
        if up < roster.count:
            raise SystemExit(PARTIAL)

    @staticmethod
    def _reach(options: dict[str, Any]) -> tuple[Roster, HttpTransport]:
        key = files.read_site_key(options["site_key"])
        roster = files.read_roster(options["roster"], site_key=bytes(key.verify_key))
        return roster, HttpTransport(roster, site_key=key)


def _host_and_port(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise usage(f"HOST:PORT is expected, and not {text}.")
    return host.strip("[]"), int(port)


def _new_pin() -> str:
    pin = getpass.getpass("PIN: ")
    if pin != getpass.getpass("PIN again: "):
        raise usage("The two PINs differ; nothing was done.")
    return pin
