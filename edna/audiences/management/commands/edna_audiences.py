"""``manage.py edna_audiences``: which audiences there are, who is in them, what was asked for, and what was read; and delete one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from edna import registry, shards
from edna.audiences.holds import Request
from edna.audiences.membership import delete
from edna.audiences.overview import Overview, overview, overviews
from edna.errors import AudienceUnknown
from edna.management.base import PARTIAL, REFUSED, EdnaCommand, operator_of, table, usage
from edna.words import count


class Command(EdnaCommand):
    help = (
        "List audiences, their members, what members have asked for, and what they have read; delete one. Takes nobody's key, and does "
        "not say whom a request is about: members see that. Members come and go by code (edna.audiences.join, leave)."
    )
    examples = (
        "  manage.py edna_audiences list\n"
        "  manage.py edna_audiences members chairs\n"
        "  manage.py edna_audiences requests chairs --json\n"
        "  manage.py edna_audiences uses chairs\n"
        "  manage.py edna_audiences delete chairs --operator olga"
    )

    noted = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "action",
            choices=("list", "members", "requests", "uses", "delete"),
            help="What to show; uses are the requests that were read. Or to delete one.",
        )
        parser.add_argument(
            "audience", nargs="?", help="Which audience; of all, but for list and delete, unless given."
        )
        parser.add_argument(
            "--lose-held",
            action="store_true",
            help="To delete: although something is held for it, which nobody but the person can read then.",
        )

    def is_for_each(self, options: dict[str, Any]) -> bool:
        return bool(options["action"] != "delete")

    def handle(self, *args: Any, **options: Any) -> None:
        self._is_anywhere = False
        super().handle(*args, **options)
        # Of several databases one may have it, and the others have not.
        if options["audience"] is not None and not self._is_anywhere:
            raise CommandError(f'There is no audience "{options["audience"]}" in any database.', returncode=REFUSED)

    def run(self, options: dict[str, Any]) -> None:
        action, name = options["action"], options["audience"]
        if action == "delete":
            self._delete(name, options)
            return
        if options["lose_held"]:
            raise usage("--lose-held is for delete.")
        if action == "list" and name is not None:
            raise usage("list takes no audience.")
        found = self._found(name)
        shown: Mapping[str, Callable[[Overview], dict[str, Any]]] = {
            "list": _summary,
            "members": _members,
            "requests": lambda each: _requests(each, each.requests),
            "uses": lambda each: _requests(each, [request for request in each.requests if request.uses]),
        }
        told = [shown[action](each) for each in found]
        if options["json"]:
            self.print_json({"audiences": told})
        elif not found:
            self.stdout.write("There is no audience." if name is None else f'There is no audience "{name}" here.')
        else:
            self._report(action, told)
        if wrong := [each.name for each in found if each.problem]:
            raise CommandError(
                f"Nothing more can be told of {', '.join(wrong)}; manage.py edna_verify names the rows.",
                returncode=PARTIAL,
            )

    def _found(self, name: str | None) -> list[Overview]:
        """
        Raises:
            AudienceUnknown: it is not here, and nowhere else is looked.
        """
        if name is None:
            return overviews()
        try:
            found = overview(name)
        except AudienceUnknown:
            if not self.is_in_each:
                raise
            return []
        self._is_anywhere = True
        return [found]

    def _delete(self, name: str | None, options: dict[str, Any]) -> None:
        if name is None:
            raise usage("delete needs the name of an audience.")
        held = delete(name, operator=operator_of(options), lose_held=options["lose_held"])
        self._is_anywhere = True
        declaring = sorted(each.name for each in registry.disguises().values() if each.audience == name)
        if options["json"]:
            self.print_json({"deleted": name, "held": held, "declared_by": declaring})
            return
        lost = f"Lost for its members: {count(held, 'copy', 'copies')}." if held else "Nothing was held for it."
        self.say(f"Deleted{shards.in_words()}: {name}. {lost}")
        if declaring:
            self.say(f"Refused until there is one of that name: {', '.join(declaring)}, which declare it.")

    def _report(self, action: str, told: list[dict[str, Any]]) -> None:
        if action == "list":
            heads = ("audience", "members", "changes", "shares", "requests", "read")
            rows = [
                (
                    each["name"],
                    each["members"],
                    each["changes"],
                    "; ".join(map(_shares_in_words, each["shares"])) or "none",
                    each["requests"],
                    each["uses"],
                )
                for each in told
            ]
            self.stdout.write(table(heads, rows))
        for each in told if action == "members" else ():
            members = [
                (said["name"], said["id"].hex(), "yes" if said["has_share"] else "no") for said in each["members"]
            ]
            self.stdout.write(f"{each['name']}: {count(len(members), 'member')}.")
            self.stdout.write(table(("name", "id", "has a share"), members))
        for each in told if action in ("requests", "uses") else ():
            requests = [
                (
                    said["number"],
                    said["asked_by"],
                    said["asked_on"],
                    ", ".join(said["agreed"]),
                    said["uses"],
                    said["reason"],
                )
                for said in each["requests"]
            ]
            self.stdout.write(f"{each['name']}: {count(len(requests), 'request')}.")
            if requests:
                heads = ("number", "asked by", "on", "agreed", "read", "reason")
                self.stdout.write(table(heads, requests))
        for each in told:
            if each["problem"]:
                self.say(f"{each['name']}: {each['problem']}")


def _summary(found: Overview) -> dict[str, Any]:
    return {
        "name": found.name,
        "members": len(found.members),
        "changes": found.changes,
        "shares": [
            {
                "together": each.together,
                "epoch": each.epoch,
                "members": each.members,
                "held": each.copies,
                "is_usable": each.is_usable,
            }
            for each in found.shares
        ],
        "requests": len(found.requests),
        "uses": found.uses,
        "problem": found.problem,
    }


def _shares_in_words(said: Mapping[str, int]) -> str:
    there = f"{said['together']} together, {said['members']} left with a share"
    return f"{there}{'' if said['is_usable'] else ': TOO FEW'}, {said['held']} held, epoch {said['epoch']}"


def _members(found: Overview) -> dict[str, Any]:
    members = [{"id": each.id, "name": each.name, "has_share": each.has_share} for each in found.members]
    return {"name": found.name, "members": members, "problem": found.problem}


def _requests(found: Overview, requests: list[Request] | tuple[Request, ...]) -> dict[str, Any]:
    told = [
        {
            "number": each.id,
            "together": each.together,
            "asked_by": each.asked_by,
            "asked_on": each.asked_on,
            "reason": each.reason,
            "agreed": list(each.agreed),
            "uses": each.uses,
        }
        for each in requests
    ]
    return {"name": found.name, "requests": told, "problem": found.problem}
