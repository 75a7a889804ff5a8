"""Fill the site: ``python -m loadtest.prepare --app websubmit --scale 1 --output people.json``.

The one program of the load that changes the database without a page. Each application has a module ``loadtest.prepare_APP`` with
``prepare(*, scale, source, drawn) -> People``: it seeds, registers everybody, and chooses ``drawn`` disguisers by lot and those of other
sizes. Ordinary people and disguisers are never the same.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from contextlib import closing
from importlib import import_module
from pathlib import Path

from loadtest.people import People


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m loadtest.prepare", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--app", required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--drawn", type=int, default=150, help="disguisers drawn by lot (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loadtest.site_settings")

    import django
    from django.core.management import call_command

    from benchmarks.kit.driver import Driver
    from benchmarks.space import analyse

    django.setup()
    call_command("migrate", verbosity=0)
    people: People = import_module(f"loadtest.prepare_{arguments.app}").prepare(
        scale=arguments.scale, source=random.Random(arguments.seed), drawn=arguments.drawn
    )
    with closing(Driver()) as driver:
        analyse(driver)
    people.write(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
