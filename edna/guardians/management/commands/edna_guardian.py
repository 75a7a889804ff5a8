"""``manage.py edna_guardian``: run a guardian; and, for the site, have people's keys kept by guardians, and brought back."""

from __future__ import annotations

import argparse
import datetime
import getpass
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nacl.signing
from django.core.management.base import CommandParser

from edna import api, inner_door
from edna.custody.guardians import quorum
from edna.custody.guardians.process.guardian import Guardian
from edna.custody.guardians.process.policies import Tell
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.roster import Identity, Roster, to_base64
from edna.custody.guardians.schedule import GuardianSchedule
from edna.custody.guardians.sweep import Sweep
from edna.errors import CustodyError
from edna.guardians import files, serving
from edna.management.base import PARTIAL, EdnaCommand, new_private_file, operator_of, usage
from edna.management.credentials import add_key_arguments, check_usage, credentials
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
        "--listen 0.0.0.0:8443 --certificate tls.pem --certificate-key tls.key\n"
        "  manage.py edna_guardian enroll --roster roster.json --site-key site.key --contact bea@example.org --output bea.envelope "
        "--identifier bea\n"
        "  manage.py edna_guardian recover --roster roster.json --site-public-key KEY --output bea.key bea.envelope\n"
        "  manage.py edna_guardian refresh --roster roster.json --site-key site.key"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(
            dest="action", required=True, metavar="ACTION", parser_class=argparse.ArgumentParser
        )

        def action(name: str, text: str) -> argparse.ArgumentParser:
            return actions.add_parser(name, help=text, description=text)

        new = action("new", "Make a guardian's identity, and print what a roster says of it.")
        self._folder(new)
        new.add_argument("--number", type=int, required=True, help="Guardians are numbered 1, 2, 3 ...")
        new.add_argument("--address", required=True, help="Where others reach it: https://guardian.example:8443.")
        new.add_argument(
            "--certificate",
            metavar="FILE",
            help="The certificate that its TLS shows, if machines do not trust it anyway.",
        )

        serve = action("serve", "Run a guardian until it is asked to stop.")
        self._folder(serve)
        self._roster(serve)
        self._public_key(serve)
        serve.add_argument(
            "--policy", default="waiting:48", help="waiting:HOURS, mail, or counter (default: waiting:48)."
        )
        serve.add_argument("--listen", default="127.0.0.1:8443", metavar="HOST:PORT")
        serve.add_argument("--certificate", metavar="FILE", help="For TLS; needed but on the loopback interface.")
        serve.add_argument("--certificate-key", metavar="FILE")
        serve.add_argument(
            "--mail-server",
            default="127.0.0.1:25",
            metavar="HOST:PORT",
            help="With - mails are printed: to try it out.",
        )
        serve.add_argument("--mail-from", default="guardian@localhost", metavar="ADDRESS")

        code = action("code", "At the counter: a code for whoever has shown who they are, and names their request.")
        self._folder(code)
        self._roster(code)
        self._public_key(code)
        code.add_argument(
            "--for", dest="contact", required=True, help="Whom they have shown to be: the address that was enrolled."
        )
        code.add_argument("request", help="What the person's page calls the request at this guardian.")

        audit = action("audit", "What a guardian was asked, the newest first.")
        self._folder(audit)
        self._roster(audit)
        self._public_key(audit)

        site_key = action("site-key", "Make the key with which the site orders, and print its public half.")
        site_key.add_argument("--output", metavar="FILE", required=True)

        schedule = action("schedule", "Sign the roster of guardians, and when each restarts.")
        self._site_key(schedule)
        schedule.add_argument(
            "--site", required=True, metavar="NAME", help="What people call the site: guardians name it to them."
        )
        schedule.add_argument("--threshold", type=int, required=True, help="How many guardians are needed.")
        schedule.add_argument("--attack-seconds", type=int, help="How long somebody needs to steal into a guardian.")
        schedule.add_argument("--restart-seconds", type=int, help="How long a restart takes.")
        schedule.add_argument("--output", metavar="FILE", required=True)
        schedule.add_argument(
            "member", nargs="+", help="What 'new' has printed of each guardian, in the order of their numbers."
        )

        enroll = action("enroll", "Have guardians keep a way back to a person's key. Writes the envelope.")
        self._roster(enroll)
        self._site_key(enroll)
        enroll.add_argument("--contact", required=True, help="Where guardians reach the person: an e-mail address.")
        enroll.add_argument(
            "--account",
            default="",
            metavar="NAME",
            help="What the person calls their account: guardians name it to them.",
        )
        enroll.add_argument("--pin", action="store_true", help="Ask for a PIN, which is needed then to come back.")
        enroll.add_argument("--output", metavar="FILE", required=True, help="A new file for the envelope.")
        add_key_arguments(enroll, required=True, receipts="which are not needed here")  # type: ignore[arg-type]  # takes any parser

        recover = action(
            "recover", "Get a key back with the help of guardians. Asks for the codes that they have sent."
        )
        self._roster(recover)
        self._public_key(recover)
        recover.add_argument("--pin", action="store_true", help="Ask for the PIN.")
        recover.add_argument(
            "--request",
            metavar="FILE",
            required=True,
            help="Where to keep the request until all guardians agree; made if new.",
        )
        recover.add_argument("--output", metavar="FILE", required=True, help="A new file for the secret key.")
        recover.add_argument("envelope")

        veto = action("veto", "The owner refuses what somebody asks of guardians, who take nothing else for a day.")
        self._roster(veto)
        self._public_key(veto)
        veto.add_argument("envelope")
        add_key_arguments(veto, required=True, receipts="which are not needed here")  # type: ignore[arg-type]  # takes any parser

        for name, text in (
            (
                "refresh",
                "Give all guardians new shares, and repair those that have missed one. Do it after each restart.",
            ),
            ("status", "How many enrolments each guardian has, and whether it answers."),
        ):
            each = action(name, text)
            self._roster(each)
            self._site_key(each)
        super().add_arguments(parser)

    @staticmethod
    def _folder(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--folder", type=Path, required=True, help="Where this guardian keeps its identity and its store."
        )

    @staticmethod
    def _roster(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--roster", type=Path, required=True, help="The file that 'schedule' has signed.")

    @staticmethod
    def _public_key(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--site-public-key", required=True, metavar="KEY", help="What 'site-key' has printed.")

    @staticmethod
    def _site_key(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--site-key", type=Path, required=True, metavar="FILE")

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
            "refresh": self._refresh,
            "status": self._status,
        }
        actions[options["action"]](options)

    # --- who runs a guardian ---

    def _new(self, options: dict[str, Any]) -> None:
        folder: Path = options["folder"]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        identity = Identity.new(options["number"])
        certificate = Path(options["certificate"]).read_text(encoding="utf-8") if options["certificate"] else ""
        files.write_identity(folder / "identity.json", identity)
        self.stdout.write(files.member_text(identity.member(options["address"], certificate=certificate)), ending="")

    def _serve(self, options: dict[str, Any]) -> None:
        host, port = _host_and_port(options["listen"])
        mail_host, mail_port = ("", 0) if options["mail_server"] == "-" else _host_and_port(options["mail_server"])
        roster = self._signed_roster(options)
        tell = (
            serving.tell_by_mail(host=mail_host, port=mail_port, sender=options["mail_from"], site=roster.site)
            if mail_host
            else self._tell
        )
        guardian = self._guardian(options, policy=options["policy"], tell=tell)

        def ready(port: int) -> None:
            self.say(f"Guardian {guardian.number} listens on {host} port {port}.")

        serving.serve(
            guardian, (host, port), tls=serving.tls_of(options["certificate"], options["certificate_key"]), ready=ready
        )

    def _tell(self, contact: str, text: str) -> None:
        self.say(f"To {contact}: {text}")

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
            enrolled = quorum.enrol(
                inner_door.secret_key_of(unlocked).expose(),
                roster=roster,
                transport=transport,
                contact=options["contact"],
                account=options["account"] or options["identifier"] or "",
                pin=pin,
            )
            inner_door.note_act("enrolled at guardians", operator=operator_of(options))
            file.write(enrolled.envelope.text)
        self.stdout.write(
            f"{options['output']} opens with the help of {roster.threshold} of {roster.count} guardians. Keep it on the site and with "
            "the person: it says nothing to anybody else."
        )
        for number, why in enrolled.missing.items():
            self.say(f"Guardian {number} has no share yet: {why} 'refresh' gives it one.")

    def _recover(self, options: dict[str, Any]) -> None:
        roster = self._signed_roster(options)
        envelope, kept = files.read_envelope(Path(options["envelope"])), Path(options["request"])
        request = files.read_request(kept) if kept.exists() else None
        recovery = quorum.Recovery(envelope, roster=roster, transport=HttpTransport(roster), secret=request)
        if request is None:
            files.write_request(kept, recovery.secret)
            refused = recovery.open()
            for member in roster.members:
                told = refused.get(member.number, f"your request there is {recovery.name(member.number)}")
                self.say(f"Guardian {member.number}: {told}")
        for number in recovery.waiting_for_codes():
            if code := input(f"Code of guardian {number} (empty if you have none): ").strip():
                try:
                    recovery.confirm(number, code)
                except CustodyError as error:
                    self.say(str(error))
        pin = getpass.getpass("PIN: ") if options["pin"] else ""
        key = api.SecretKey(recovery.finish(pin=pin))
        with new_private_file(options["output"]) as file:
            file.write(key.expose_text() + "\n")
        kept.unlink()
        self.stdout.write(f"{options['output']} holds the secret key. Set a new password with it, and delete the file.")

    def _veto(self, options: dict[str, Any]) -> None:
        check_usage(options)
        roster = self._signed_roster(options)
        envelope = files.read_envelope(Path(options["envelope"]))
        with api.unlock(**credentials(options)) as unlocked:
            secret = inner_door.secret_key_of(unlocked).expose()
            deaf = quorum.veto(secret, envelope, roster=roster, transport=HttpTransport(roster))
        for number, why in deaf.items():
            self.say(f"Guardian {number} has not heard it: {why}")
        self.stdout.write(
            f"{roster.count - len(deaf)} of {roster.count} guardians refuse all requests, and take no other for a day."
        )
        if roster.count - len(deaf) <= roster.count - roster.threshold:
            raise SystemExit(PARTIAL)

    def _refresh(self, options: dict[str, Any]) -> None:
        roster, transport = self._reach(options)
        swept = Sweep(roster=roster, transport=transport).run()
        if options["json"]:
            self.print_json(
                {
                    "refreshed": swept.refreshed,
                    "finished": swept.finished,
                    "repaired": dict(swept.repaired),
                    "wrong": swept.wrong,
                    "left": len(swept.left),
                }
            )
        else:
            self.stdout.write(f"{count(swept.refreshed, 'enrolment')} refreshed.")
            for number, repaired in sorted(swept.repaired.items()):
                self.stdout.write(f"Guardian {number} was behind: {count(repaired, 'share')} repaired.")
            for number, why in sorted(swept.wrong.items()):
                self.say(f"Guardian {number}: {why}")
        if swept.left or swept.wrong:
            self.say(
                f"{count(len(swept.left), 'enrolment')} could not be refreshed; try again when all guardians are up."
            )
            raise SystemExit(PARTIAL)

    def _status(self, options: dict[str, Any]) -> None:
        roster, transport = self._reach(options)
        found: dict[int, Mapping[str, Any]] = {}
        for member in roster.members:
            try:
                found[member.number] = transport.ask(member.number, "/status", {})
            except CustodyError as error:
                found[member.number] = {"error": str(error)}
        up = sum("error" not in each for each in found.values())
        if options["json"]:
            self.print_json({"guardians": found, "up": up, "needed": roster.threshold})
        else:
            for number, each in found.items():
                epochs = ", ".join(f"{held} of epoch {epoch}" for epoch, held in each.get("epochs", {}).items())
                self.stdout.write(
                    f"guardian {number}: {each.get('error') or count(each['enrolments'], 'enrolment')} {epochs}".rstrip()
                )
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
