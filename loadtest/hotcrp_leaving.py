"""Members of HotCRP's committee who remove their account and come back: their reviews stay meanwhile, and name nobody."""

from __future__ import annotations

import random

import gevent

from loadtest.browser import Unexpected
from loadtest.disguisers import Disguiser
from loadtest.hotcrp_sight import CONFERENCE, LOGGED_IN, PAGE, PAUSE_SECONDS, papers
from loadtest.people import Account
from loadtest.samples import AROUND, DISGUISE, REVEAL

RECEIPT = r'id="edna-receipt">([^<]+)<'
LEAVING = "/privacy/do/hotcrp.remove-account/"
#: The whole list, which takes as long as leaving and returning, is looked at the first time and then every so many times. A review is
#: looked at each time, and every row when all is over (`loadtest.integrity`).
LISTED_EACH = 5


class ReviewerWhoLeaves(Disguiser):
    """Removes the account on its page; comes back with the receipt of the good-bye page. All reviews carry the name again then."""

    root = "/hotcrp"
    receipt = ""
    _looks = 0

    def log_in(self, account: Account) -> None:
        self.receipt = ""
        # On to a page that is light: the list of papers takes several times as long as leaving.
        fields = {"email": account.name, "password": self.load.people.password, "next": "/hotcrp/account/"}
        self.enter("/login/", fields).find(LOGGED_IN)

    def leave(self, account: Account) -> None:
        # Either opens the key, if the account may own what was anonymised; the password is derived for it.
        by_code = {"recovery_code": account.recovery_code}
        by_password = self.load.by_password or not account.recovery_code
        fields = {"password": self.load.people.password} if by_password else by_code
        page = self.persist(
            LEAVING, LEAVING, fields, name="remove account", kind=DISGUISE, rows=account.rows, seen=True
        )
        self.receipt = page.find(RECEIPT)
        CONFERENCE.leave(self._texts(account))
        # As long as others pause: in no time at all nobody could look whether a page still names who has left.
        gevent.sleep(random.uniform(*PAUSE_SECONDS))

    @staticmethod
    def _texts(account: Account) -> list[str]:
        """What names this person alone."""
        return [text for text in (account.name, account.marks["name"]) if text]

    def come_back(self, account: Account) -> None:
        CONFERENCE.come_back(self._texts(account))
        # Without one the key finds what is to be brought back.
        fields = {"receipt": self.receipt, "recovery_code": account.recovery_code, "password": ""}
        if self.load.by_password:
            fields |= {"recovery_code": "", "identifier": account.name, "password": self.load.people.password}
        address = "/privacy/return/"
        page = self.persist(address, address, fields, name="restore account", kind=REVEAL, rows=account.rows)
        page.find(r"<h1>(It is back)</h1>")

    def look(self, account: Account) -> None:
        self.forget_cookies()
        self.log_in(account)
        self._looks += 1
        if self._looks % LISTED_EACH == 1:
            shown: dict[int, str] = {}
            for number in range(1, len(account.marks["papers"]) // PAGE + 2):
                path = f"/papers/?show=reviews&page={number}"
                shown |= papers(self.get(path, name="look what is back", kind=AROUND).text)
            if sorted(shown) != account.marks["papers"]:
                raise Unexpected("the reviews of somebody who is back are not those of before")
        paper, text = random.choice(sorted(account.marks["texts"].items()))
        page = self.get(f"/papers/{paper}/review/", name="look at a review", kind=AROUND)
        if text not in page.text:
            raise Unexpected("a review of somebody who is back is not what it was")
