"""How big edna's tables get with so many principals: ``python -m benchmarks.principals --principals 1000000,10000000``.

Fills private tables of MariaDB with small rows, every tenth principal having left, and prints what they take beside what paper says
(`benchmarks.principals.paper`); then, how long it takes to go through them all. ``--paper 100000000`` prints paper's word alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, Final

from benchmarks.keypool import private_site
from benchmarks.principals import paper

BAG_BYTES: Final = 240
GONE: Final = 0.1
#: Everything is looked up in memory, as on a server of that size.
_BUFFER_POOL_BYTES: Final = 6 * 1024**3
_LOOK_UPS: Final = 300


def on_paper(principals: int, *, full: float) -> list[tuple[paper.Index, int]]:
    """Each tree, and how many rows it has."""
    shares, trees = paper.tables(gone=GONE, bag_bytes=BAG_BYTES)
    return [(tree, round(principals * shares[tree.table])) for tree in trees]


def measured(driver: Any) -> dict[tuple[str, str], int]:
    """Bytes of each tree, by table and the beginning of its name."""
    for table in ("edna_principalentry", "edna_bag"):
        driver.execute(f"ANALYZE TABLE {table}").fetchall()
    found = driver.execute(
        "SELECT table_name, index_name, stat_value FROM mysql.innodb_index_stats "
        "WHERE database_name = DATABASE() AND stat_name = 'size'"
    ).fetchall()
    driver.commit()
    return {(table, name): int(pages) * paper.PAGE_BYTES for table, name, pages in found}


def pages_of_a_look_up(driver: Any, table: str, column: str) -> float:
    """How many pages the server looks at to find a row: down the tree of the column, and down the table's."""
    values = driver.execute(f'SELECT "{column}" FROM {table} WHERE "{column}" IS NOT NULL LIMIT {_LOOK_UPS}').fetchall()

    def so_far() -> int:
        (found,) = driver.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'").fetchall()
        return int(found[1])

    wanted = "sealed" if table == "edna_bag" else "locators"
    before = so_far()
    for (value,) in values:
        driver.execute(f'SELECT id, {wanted} FROM {table} WHERE "{column}" = %s', (value,))
        driver.cursor.fetchall()
    pages = so_far() - before
    driver.commit()
    return pages / len(values)


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def compared(principals: int, sizes: dict[tuple[str, str], int], *, full: float) -> None:
    total = [0, 0]
    for tree, rows in on_paper(principals, full=full):
        (there,) = [size for (table, name), size in sizes.items() if table == tree.table and name.startswith(tree.name)]
        said = tree.bytes(rows, full=full)
        total = [total[0] + said, total[1] + there]
        print(
            f"  {tree.table:>20} {tree.name:<26} {rows:>11,} rows {said / 1e6:>9.1f} MB on paper {there / 1e6:>9.1f} measured"
            f"  {said / there:5.2f}  depth {tree.depth(rows, full=full)}"
        )
    said, there = total
    print(
        f"  {'together':>20} {'':<43} {said / 1e6:>9.1f} MB on paper {there / 1e6:>9.1f} measured  {said / there:5.2f}"
    )


def told(principals: int) -> None:
    """Paper's word alone."""
    for name, full in (("as they are written", paper.SCATTERED), ("rebuilt", paper.REBUILT)):
        trees = on_paper(principals, full=full)
        size = sum(tree.bytes(rows, full=full) for tree, rows in trees)
        depths = ", ".join(f"{tree.table}.{tree.name} {tree.depth(rows, full=full)}" for tree, rows in trees)
        print(f"{principals:,} principals, {name}: {size / 1e9:.2f} GB; depths: {depths}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.principals", description=__doc__.partition("\n")[0])
    parser.add_argument("--principals", default="100000,1000000", help="sizes (default %(default)s)")
    parser.add_argument("--sizes-only", action="store_true", help="go through nothing: at ten millions that takes long")
    parser.add_argument("--paper", default="", help="only what paper says of these sizes")
    given = parser.parse_args(arguments)
    if given.paper:
        for size in given.paper.split(","):
            told(int(size))
        return
    with private_site("mariadb"):
        from django.core.management import call_command

        from benchmarks.kit.driver import Driver
        from benchmarks.principals.crowd import Crowd
        from edna.operations.retention.expiry import expire
        from edna.operations.upkeep.residue import sweep
        from edna.operations.upkeep.scrubbing import scrub
        from edna.operations.upkeep.verification import verify

        call_command("migrate", verbosity=0)
        with closing(Driver()) as driver:
            driver.execute("SET GLOBAL innodb_buffer_pool_size = %s", (_BUFFER_POOL_BYTES,))
            driver.commit()
            crowd = Crowd(driver)
            for size in sorted(int(size) for size in given.principals.split(",")):
                seconds = timed(partial(crowd.grow, size, bag_bytes=BAG_BYTES, only="edna_"))
                print(f"{size:,} principals, filled up in {seconds:.0f} s; as they were written:")
                compared(size, measured(driver), full=paper.SCATTERED)
                for table, column in (
                    ("edna_principalentry", "id"),
                    ("edna_principalentry", "reference"),
                    ("edna_bag", "id"),
                ):
                    print(
                        f"  a look-up by {table}.{column}: {pages_of_a_look_up(driver, table, column):.1f} pages",
                        flush=True,
                    )
                if given.sizes_only:
                    continue
                print(f"  edna_verify: {timed(verify):.1f} s", flush=True)
                print(f"  edna_scrub: {timed(scrub):.1f} s; after it:")
                compared(size, measured(driver), full=paper.REBUILT)
            if not given.sizes_only:
                driver.execute("UPDATE edna_bag SET expires_on = '2025-02-03'")
                driver.commit()
                bags = driver.number("SELECT COUNT(*) FROM edna_bag")
                print(f"  edna_expire: {timed(expire):.1f} s for {bags:,} bags")
                print(f"  edna_sweep, which finds no account: {timed(sweep):.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
