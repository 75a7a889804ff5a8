"""WebSubmit's staff anonymise a lecture, and all students take their answers back.

One turn is one lecture, another one each time: staff open the preview and confirm it; then every student logs in and reclaims the own
answers with the recovery code. Those who have marks to compare with first change an answer while it is anonymous, look at it, and
change it back, so that the data end as they began. Ordinary students use other lectures: what somebody hands in under their name while
their answers are anonymous would be in the way of these.
"""

from __future__ import annotations

import html
import re
from typing import ClassVar

from loadtest.browser import Page, Unexpected
from loadtest.crowd import Guided, all_at_once
from loadtest.disguisers import Disguiser
from loadtest.people import Account
from loadtest.samples import AROUND, DISGUISE, REVEAL

_HIDDEN = re.compile(r'<input type="hidden" name="(form-[^"]+)" value="([^"]*)"')
_TEXT = re.compile(r'<textarea name="(form-\d+-text)"[^>]*>\n?(.*?)</textarea>', re.DOTALL)
_HIDDEN_SINCE = re.compile(r'name="receipt" value="([^"]+)"')
CHANGED = "Changed while nobody could tell whose it is."


class LectureAnonymised(Disguiser):
    """The member of the staff; students each have a browser of their own."""

    root = "/websubmit"
    #: Lectures that were anonymised in this load, whoever of the staff it was.
    done: ClassVar[int] = 0

    def pair(self, account: Account) -> None:
        """It concerns everybody, so it makes no difference for whom."""
        facts = self.load.people.facts
        lecture = facts["other_lectures"][LectureAnonymised.done % len(facts["other_lectures"])]
        LectureAnonymised.done += 1
        self.forget_cookies()
        self.enter("/login/", {"username": facts["staff"], "password": self.load.people.password})
        # Before, so that students whose lecture is anonymised without an answer to the staff are looked for at the end.
        everybody = self._everybody()
        self.load.away.update((each.name, each) for each in everybody)
        path = f"/staff/anonymise/{lecture}/"
        page = self.get(path, name="anonymise a lecture (preview)", kind=AROUND)
        rows = int(page.find(r"<h2>What would happen</h2>\s*<ul><li>([\d,]+) ").replace(",", ""))
        done = self.post(
            path,
            {"confirmation": facts["labels"][str(lecture)]},
            token=page.token,
            name="anonymise a lecture",
            kind=DISGUISE,
            rows=rows,
        )
        done.find(r"(Done: the answers to the lecture)")
        self._nobody_is_named(lecture)
        self._reclaim(everybody, lecture)

    def bring_back(self) -> None:
        self._reclaim(list(self.load.away.values()), None)

    def _everybody(self) -> list[Account]:
        codes: dict[str, str] = self.load.people.facts["codes"]
        known = {account.name: account for account in self.load.people.all_disguisers()}
        return [known.get(name) or Account(name, code, 0) for name, code in codes.items()]

    def _nobody_is_named(self, lecture: int) -> None:
        page = self.get(f"/staff/lectures/{lecture}/answers/", name="read anonymised answers", kind=AROUND)
        if not page.all(r"<td><em>(anonymous)</em></td>") or page.all(r'<td class="n">\d+</td><td>([^<]+)</td>'):
            raise Unexpected("staff read a name at the answers of an anonymised lecture")

    def _reclaim(self, everybody: list[Account], lecture: int | None) -> None:
        def one(browser: Student, account: Account) -> None:
            browser.take_back(account, lecture)
            del self.load.away[account.name]

        self.load.wrong += all_at_once(Student, self.environment, everybody, one)


class Student(Guided):
    """Somebody whose answers were anonymised, with the recovery code."""

    abstract = True
    root = "/websubmit"

    def take_back(self, account: Account, lecture: int | None) -> None:
        """What is anonymous, of one lecture or of all."""
        code = {"recovery_code": account.recovery_code}
        page = self.enter("/login/", {"username": account.name, "password": self.load.people.password})
        page = self._open(page, code, lecture)
        if lecture is not None and account.marks:
            page = self._edit(page, code, lecture)
        rows = len(_TEXT.findall(page.text))
        page = self.post("/privacy/hidden/", code, token=page.token, name="what is hidden", kind=AROUND)
        for receipt in dict.fromkeys(_HIDDEN_SINCE.findall(page.text)):
            fields = {**code, "receipt": html.unescape(receipt), "password": ""}
            page = self.post(
                "/privacy/back/", fields, token=page.token, name="reclaim a lecture", kind=REVEAL, rows=rows
            )
            page.find(r"<h1>(It is back)</h1>")
        if lecture is not None and account.marks:
            self._look(account, lecture)

    def _open(self, page: Page, code: dict[str, str], lecture: int | None) -> Page:
        fields = code if lecture is None else {**code, "lecture": str(lecture)}
        return self.post("/anonymised/", fields, token=page.token, name="open anonymised answers", kind=AROUND)

    def _edit(self, page: Page, code: dict[str, str], lecture: int) -> Page:
        """Change an answer that stays anonymous, see it, and change it back."""
        before = _form(page.text)
        name = next(name for name in before if name.endswith("-text"))
        page = self._save(page, {**before, name: CHANGED}, code, lecture)
        if _form(page.text).get(name) != CHANGED:
            raise Unexpected("an anonymised answer that was changed is not on the page")
        return self._save(page, before, code, lecture)

    def _save(self, page: Page, fields: dict[str, str], code: dict[str, str], lecture: int) -> Page:
        saved = self.post(
            "/anonymised/edit/", {**fields, **code}, token=page.token, name="edit an anonymised answer", kind=AROUND
        )
        saved.find(r"(Saved 1 anonymous answer)")
        return self._open(saved, code, lecture)

    def _look(self, account: Account, lecture: int) -> None:
        page = self.get(f"/lectures/{lecture}/", name="look what is reclaimed", kind=AROUND)
        if any(text not in page.text for text in account.marks[str(lecture)]):
            raise Unexpected("an answer was not reclaimed")


def _form(text: str) -> dict[str, str]:
    """What the form of anonymised answers holds, as a browser would send it unchanged."""
    found = dict(_HIDDEN.findall(text)) | dict(_TEXT.findall(text))
    return {name: html.unescape(value) for name, value in found.items()}
