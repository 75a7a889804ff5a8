"""``manage.py edna_disguise``: apply a disguise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from edna import api, conf, registry, shards
from edna.management.base import (
    PARTIAL,
    EdnaCommand,
    add_disguise_arguments,
    find_principal,
    need_operations,
    new_private_file,
    operator_of,
    params_of,
    remove_if_empty,
    usage,
    write_through,
)
from edna.management.commands.edna_plan import describe, make_plan, staff_left_out


class Command(EdnaCommand):
    noted = True
    help = (
        "Apply a disguise to one person or to everybody, after showing what it would do and asking.\n\nPrints the "
        "receipt: give it to the person. With their key (which only they have) it brings the data back."
    )
    examples = (
        "  manage.py edna_disguise shop.delete-account --principal bea@example.org\n  manage.py edna_disguise "
        "school.anonymize-lecture --all --param lecture=3 --yes --receipts receipts.txt\n  manage.py edna_disguise "
        "school.anonymize-lecture --all --param lecture=3 --job"
    )
    requires_system_checks = ("edna",)

    def add_arguments(self, parser: CommandParser) -> None:
        add_disguise_arguments(parser)
        parser.add_argument("--yes", action="store_true", help="Do not show the plan and do not ask.")
        parser.add_argument(
            "--receipts",
            metavar="FILE",
            help="With --all: write the receipts to this new file, one a line, readable by you only. Without it they "
            "are not kept: people find what is theirs with their key.",
        )
        parser.add_argument(
            "--parts",
            action="store_true",
            help="With --all: some hundreds in each transaction instead of everybody in one, so that locks and memory stay small. "
            "Whoever is disguised when it is interrupted stays so.",
        )
        parser.add_argument(
            "--job",
            action="store_true",
            help="With --all: in parts, too, of which it is noted who is left: it can be paused, shared with other processes, and gone "
            "on with after a kill (edna_run, edna_jobs).",
        )
        parser.add_argument(
            "--no-way-back",
            action="store_true",
            help="With --principal, or with --all --job: for good. Nothing is sealed for them, and there is no receipt. Type the name of "
            "the disguise to go on, unless --yes is given.",
        )
        super().add_arguments(parser)

    def is_for_each(self, options: dict[str, Any]) -> bool:
        return bool(options["everyone"]) and not options["receipts"]

    def run(self, options: dict[str, Any]) -> None:
        if options["receipts"] and not options["everyone"]:
            raise usage("--receipts goes with --all; the receipt of one person is printed.")
        if options["job"] and (not options["everyone"] or options["receipts"]):
            raise usage("--job goes with --all, and without --receipts: a job hands out none.")
        if options["parts"] and (not options["everyone"] or options["job"]):
            raise usage("--parts goes with --all, and without --job, which works in parts anyway.")
        if options["no_way_back"] and options["everyone"] and not options["job"]:
            raise usage("--no-way-back goes with --principal, or with --all --job.")
        if options["job"]:
            need_operations("--job")
        if options["include_staff"] and not options["everyone"]:
            raise usage("--include-staff goes with --all; one person is disguised whoever they are.")
        name = options["name"]
        disguise = registry.get(name)
        params = params_of(name, options["param"])
        self.client_mode = (disguise.locators or conf.locator_mode()) == "client"
        self.using = registry.database(registry.principal_model_for(disguise))
        if options["job"]:
            self._confirm(options)
            self._job(name, params, options)
        elif options["everyone"]:
            if self.client_mode and not options["receipts"]:
                raise CommandError(
                    f"The server keeps no locators of {name}: without its receipt nobody could reveal anything. Add "
                    "--receipts FILE."
                )
            self._confirm(options)
            self._everyone(name, params, options)
        else:
            self._confirm(options)
            self._one(name, params, options)

    def _confirm(self, options: dict[str, Any]) -> None:
        if options["yes"]:
            return
        plan, principal = make_plan(options)
        self.say(f"{describe(plan, principal)}{staff_left_out(options)}\n")
        if options["no_way_back"]:
            self.ask_for(options["name"], "For good, and nobody can bring it back. Go on?")
        else:
            self.ask_for("yes", "Go on?")

    def _one(self, name: str, params: dict[str, Any], options: dict[str, Any]) -> None:
        principal = find_principal(registry.principal_model_for(registry.get(name)), options["principal"])
        # Before the disguise, which may remove the row and with it the instance's key.
        document = {"disguise": name, "principal": str(principal.pk)}
        if options["no_way_back"]:
            api.disguise(name, principal, params=params, keep_no_way_back=True, operator=operator_of(options))
            if options["json"]:
                self.print_json({**document, "receipt": None})
            else:
                self.say("Done, for good: there is no receipt.")
            return

        def hand_over(receipt: api.Receipt) -> None:
            if options["json"]:
                self.print_json({**document, "receipt": str(receipt)})
            else:
                self.stdout.write(str(receipt))
            self.stdout.flush()

        self._deliver(lambda: api.disguise(name, principal, params=params, operator=operator_of(options)), hand_over)
        if not options["json"]:
            self.say("Done. Above is the receipt: give it to the person it is about, and to nobody else.")

    def _everyone(self, name: str, params: dict[str, Any], options: dict[str, Any]) -> None:
        path = options["receipts"]
        file = new_private_file(path) if path else None

        disguised = 0

        def hand_over(receipts: Sequence[api.Receipt]) -> None:
            if file is not None:
                write_through(file, "".join(f"{receipt}\n" for receipt in receipts))

        def progress(done: int, total: int) -> None:
            nonlocal disguised
            disguised = done
            self.show_progress(done, total)

        # In somebody's transaction nothing is tried again: what is in the file by then would be of no use.
        whole = file is not None and not options["parts"]
        try:
            with transaction.atomic(using=self.using) if whole else nullcontext():
                api.disguise_all(
                    name,
                    params=params,
                    staff=options["include_staff"],
                    atomic=not options["parts"],
                    hand_over=hand_over,
                    progress=progress,
                    operator=operator_of(options),
                )
        finally:
            if file is not None:
                file.close()
                remove_if_empty(path)
        if options["json"]:
            self.print_json({"disguise": name, "disguised": disguised, "receipts": path})
        else:
            said = f"{name}: disguised {disguised} principals{shards.in_words()}."
            self.stdout.write(said + (f" Receipts: {path}" if path else ""))

    def _job(self, name: str, params: dict[str, Any], options: dict[str, Any]) -> None:
        from edna.operations import jobs
        from edna.operations.management.foreground_runner import Stop, sum_up, work_on

        job = jobs.start(
            name,
            params=params,
            operator=operator_of(options),
            staff=options["include_staff"],
            keep_no_way_back=options["no_way_back"],
        )
        self.say(f"Job {job.id}. If this is interrupted, manage.py edna_run {job.id} goes on.")
        with Stop() as stop:
            report = work_on(self, job.id, stop=stop)
        if options["json"]:
            self.print_json(report.as_dict())
        else:
            self.stdout.write(sum_up(report))
        if report.failed or report.left:
            raise CommandError(
                f"Not everybody was disguised; manage.py edna_jobs show {job.id} says why.", returncode=PARTIAL
            )

    def _deliver(self, work: Callable[[], api.Receipt], hand_over: Callable[[api.Receipt], None]) -> None:
        """Apply, and hand over the receipt: before the commit where it is the only way back."""
        if self.client_mode:
            with transaction.atomic(using=self.using):
                hand_over(work())
            return
        done = work()
        try:
            hand_over(done)
        except OSError as error:
            raise CommandError(
                f"The disguise was applied, but writing the receipt failed ({error.strerror}); the person's key finds "
                "it (edna.history)."
            ) from error
