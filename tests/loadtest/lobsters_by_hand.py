"""Each thing that a member does, once, while somebody is gone: ``python -m tests.loadtest.lobsters_by_hand HOST PEOPLE``.

A process of its own, since Locust patches it. Prints as JSON what was noticed, and the names of the requests.
"""

from __future__ import annotations

import locust  # isort: skip
import json
import sys
from pathlib import Path

from loadtest.browser import Load, Unexpected
from loadtest.lobsters import Member
from loadtest.lobsters_leaving import MemberWhoLeaves, MemberWhoLeavesATopic
from loadtest.people import People
from loadtest.popularity import MIX


def main(host: str, path: str) -> None:
    load = Load(People.read(Path(path)))
    environment = locust.env.Environment(user_classes=[Member, MemberWhoLeaves, MemberWhoLeavesATopic], host=host)
    environment.load = load  # type: ignore[attr-defined]
    noticed: list[str] = []
    for leaver, size in ((MemberWhoLeaves, "random"), (MemberWhoLeavesATopic, "topic")):
        for user in environment.user_classes:
            user.host = host
        one, account = leaver(environment), load.people.disguisers[size][0]
        one.log_in(account)
        one.leave(account)
        member = Member(environment)
        member.on_start()
        # Logging out comes last of the mix; whoever does something more logs in before. Whose profile it is, and whether the story
        # is one's own, is drawn by lot: so some more of these.
        for doing in (*MIX, "upvote_story", "upvote_story", *["profile"] * 20):
            try:
                member.do(doing)
            except Unexpected as unexpected:
                noticed.append(str(unexpected))
        one.come_back(account)
        one.look(account)
    print(json.dumps({"noticed": [*noticed, *load.wrong], "names": sorted({sample.name for sample in load.samples})}))


if __name__ == "__main__":
    main(*sys.argv[1:])
