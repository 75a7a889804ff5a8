"""One application on one database: `python -m benchmarks` starts this for each, for Django's settings are read once."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import django

#: Each has ``add_arguments``, ``run``, and ``DATABASES`` and ``QUICK``: where it is measured, and the small scale.
APPS = (
    "websubmit",
    "lobsters",
    "hotcrp",
    "principals",
    "devices",
    "audiences",
    "policies",
    "guardians",
    "recipients",
    "custody",
)


def module_of(app: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{app}.run")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of all applications: one that is not measured ignores its own."""
    parser.add_argument(
        "--samples", type=int, default=150, help="of an operation at the library level (default: %(default)s)"
    )
    parser.add_argument(
        "--slow-samples",
        type=int,
        default=10,
        help="of what takes a password derivation, or long (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, help="another number draws other users (default: %(default)s)")
    parser.add_argument(
        "--output", type=Path, default=Path("build/bench.json"), help="where to write (default: %(default)s)"
    )
    for app in APPS:
        module_of(app).add_arguments(parser.add_argument_group(app))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measure", description=(__doc__ or "").split("\n")[0])
    add_arguments(parser)
    parser.add_argument("--app", required=True, choices=APPS)
    parser.add_argument("--database", required=True, help="its name in the results")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.site_settings")
    django.setup()
    results = module_of(arguments.app).run(arguments)
    arguments.output.write_text(json.dumps([result.as_dict() for result in results]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
