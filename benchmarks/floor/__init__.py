"""The floor: disguises and reveals by a bare script over the driver, sealed with PyNaCl, in the least statements that are right.

Locks and reads are in it, and what a reveal has to find unchanged. Settings, specifications, audit, ledger, jobs, files, expiry,
forwarding and every other case are not. So it says what a library of this kind cannot be faster than, in Python, over this driver, and
`edna : floor` what edna's generality costs. Knows neither edna nor Django. An application says in `Place`s what becomes of its rows.
"""

from benchmarks.floor.script import Floor, People, Person, Place, repointed

__all__ = ["Floor", "People", "Person", "Place", "repointed"]
