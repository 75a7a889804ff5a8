"""The pages of edna for members: in the frame of this site, in front of its own log-in."""

from __future__ import annotations

import edna
from edna.urls import Pages

from .keys import TOPIC, identifier


class Privacy(Pages):
    name = "lobsters-privacy"
    user_model = "lobsters_sim.User"
    login_url = "lobsters:login"
    base_template_name = "lobsters/privacy.html"

    def identifier(self, username: str) -> str:
        return identifier(username)

    def title_of(self, entry: edna.HistoryEntry | edna.Waiting) -> str:
        return f"Leave the topic “{entry.params['tag']}”" if entry.name == TOPIC else super().title_of(entry)

    def why(self, row: edna.Held) -> str:
        if row.reason is edna.Reason.REFERENCE_MISSING:
            return "What it belongs to is not here now; perhaps its author has left, too."
        return super().why(row)


PAGES = Privacy()
