"""One checkout at work: seeds an application, then does what its standard input asks, a line of JSON each, and answers with times.

Runs by its path, with another commit's packages in PYTHONPATH: so it takes nothing but the door and the sample applications, as they
have been for long.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
from collections.abc import Callable
from typing import Any

ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what seeds print is no answer


def main(app: str, options: dict[str, Any]) -> None:
    import django

    django.setup()
    site = {"websubmit": WebSubmit, "lobsters": Lobsters, "hotcrp": HotCRP}[app](**options)
    gc.collect()
    gc.disable()
    print(json.dumps({"people": len(site.people), "operations": list(site.operations)}), file=ANSWERS, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(site.operations[asked["operation"]](asked["person"])), file=ANSWERS, flush=True)


class Timed:
    """What one piece of work took: milliseconds by the clock, of this process, and statements if they are counted."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        from time import perf_counter_ns, process_time_ns

        began, busy = perf_counter_ns(), process_time_ns()
        outcome = work()
        self.found[name] = [(perf_counter_ns() - began) / 1e6, (process_time_ns() - busy) / 1e6]
        return outcome


class Site:
    """An application with everybody's keys at hand. ``operations`` by name take the number of a person."""

    def __init__(self, users: list[Any]) -> None:
        import edna
        from edna.models import KeySlot, PrincipalEntry

        PrincipalEntry.objects.all().delete()
        KeySlot.objects.all().delete()
        self.people = [
            (user, made.secret_key)
            for start in range(0, len(users), 1000)
            for user, made in zip(
                users[start : start + 1000], edna.register_principals(users[start : start + 1000]), strict=True
            )
        ]
        random.Random(1).shuffle(self.people)
        self.operations: dict[str, Callable[[int], dict[str, list[float]]]] = {}

    def offer(self, there: str, back: str, disguise: str, *, key: bool = False, **params: Any) -> None:
        """A disguise and its way back. ``key``: what earlier disguises moved is meant, too."""
        import edna

        def both(number: int) -> dict[str, list[float]]:
            user, secret = self.people[number % len(self.people)]
            timed = Timed()

            def leave() -> Any:
                if not key:
                    return edna.disguise(disguise, user, params=params)
                with edna.unlock(secret_key=secret) as unlocked:
                    return edna.disguise(disguise, user, params=params, unlocked=unlocked)

            def come_back() -> Any:
                with edna.unlock(secret_key=secret) as unlocked:
                    return edna.reveal(receipt, unlocked)

            receipt = timed(there, leave)
            assert timed(back, come_back).complete
            return timed.found

        self.operations[there] = both

    def offer_all(self, name: str, disguise: str) -> None:
        """Everybody at once. It is not taken back: what is asked afterwards is done under it."""
        import edna

        def everybody(_: int) -> dict[str, list[float]]:
            timed = Timed()
            timed(name, lambda: edna.disguise_all(disguise))
            return timed.found

        self.operations[name] = everybody


class WebSubmit(Site):
    def __init__(self, **options: int) -> None:
        from django.core.management import call_command

        from apps.websubmit.models import Question, User

        call_command("migrate", verbosity=0)
        call_command("websubmit_seed", no_register=True, **options)
        super().__init__(list(User.objects.filter(is_admin=False, is_anon=False).order_by("pk")))
        self.questions = list(Question.objects.order_by("pk").values_list("pk", flat=True))
        self.offer("delete", "restore", "websubmit.delete-account")
        self.offer_all("anonymise all", "websubmit.anonymize-all")
        self.operations["edit under disguise"] = self.edit
        self.offer("delete after anonymise", "restore after anonymise", "websubmit.delete-account", key=True)

    def edit(self, number: int) -> dict[str, list[float]]:
        import edna
        from apps.websubmit.answers import save_answers
        from apps.websubmit.models import Answer, User

        _, secret = self.people[number % len(self.people)]
        question, timed = self.questions[number % len(self.questions)], Timed()

        def edit() -> None:
            with edna.unlock(secret_key=secret) as unlocked:
                answer = Answer.objects.get(author__in=edna.speaks_for(unlocked, User), question=question)
                save_answers(edna.speak_as(unlocked, answer), {question: f"another answer {number}"})

        timed("edit under disguise", edit)
        return timed.found


class Lobsters(Site):
    def __init__(self, **options: float) -> None:
        from django.core.management import call_command

        from apps.lobsters_sim.models import User

        call_command("migrate", verbosity=0)
        call_command("lobsters_seed", no_register=True, verbosity=0, **options)
        User.objects.update(is_moderator=False)
        super().__init__(list(User.objects.filter(deleted_at=None).order_by("pk")))
        self.offer("delete", "restore", "lobsters.delete-account")
        self.offer("decay", "come back", "lobsters.decay")
        self.offer("topic", "reclaim", "lobsters.topic", tag="starwars")


class HotCRP(Site):
    def __init__(self, **options: int) -> None:
        from django.core.management import call_command

        from apps.hotcrp_sim.models import PC, ContactInfo

        call_command("migrate", verbosity=0)
        call_command("hotcrp_seed", no_register=True, verbosity=0, **options)
        super().__init__(list(ContactInfo.objects.filter(is_guise=False).order_by("pk")))
        self.people = [(user, secret) for user, secret in self.people if user.roles & PC]
        self.offer("remove", "restore", "hotcrp.remove-account")
        self.offer("anonymise", "reclaim", "hotcrp.anonymize-conference")
        self.offer_all("anonymise all", "hotcrp.anonymize-conference")
        self.offer("remove after anonymise", "restore after anonymise", "hotcrp.remove-account", key=True)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
