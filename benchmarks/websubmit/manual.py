"""What a developer would write instead: irreversible SQL, by hand, through the bare driver."""

from __future__ import annotations

import datetime
import secrets

from benchmarks.kit.dialects import listed
from benchmarks.kit.driver import Driver, Row

# The operations


def create_account(driver: Driver, email: str, password_hash: str) -> None:
    with driver.transaction():
        insert_account(driver, email, password_hash)


def insert_account(driver: Driver, email: str, password_hash: str) -> int:
    """Within a transaction; returns the new key."""
    key: int = driver.insert_one(
        "INSERT INTO websubmit_user (email, password, apikey, is_admin, is_anon, is_active, joined_on) "
        "VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (email, password_hash, secrets.token_hex(16), False, False, True, str(datetime.date.today())),
    )
    return key


def list_answers(driver: Driver, author: int, lecture: int) -> list[Row]:
    cursor = driver.execute(
        "SELECT a.question_id, a.text FROM websubmit_answer a JOIN websubmit_question q ON q.id = a.question_id "
        "WHERE a.author_id = %s AND q.lecture_id = %s",
        (author, lecture),
    )
    return list(cursor.fetchall())


def list_lecture(driver: Driver, lecture: int) -> list[Row]:
    cursor = driver.execute(
        "SELECT q.number, u.email, u.is_anon, a.text, a.submitted_at FROM websubmit_answer a "
        "JOIN websubmit_question q ON q.id = a.question_id JOIN websubmit_user u ON u.id = a.author_id "
        "WHERE q.lecture_id = %s ORDER BY q.number, a.id",
        (lecture,),
    )
    return list(cursor.fetchall())


def edit_answer(driver: Driver, author: int, question: int, text: str) -> None:
    with driver.transaction():
        change_answer(driver, author, question, text)


def change_answer(driver: Driver, author: int, question: int, text: str) -> None:
    """Within a transaction."""
    now = datetime.datetime.now(datetime.UTC).replace(tzinfo=None)
    driver.execute(
        "UPDATE websubmit_answer SET text = %s, submitted_at = %s WHERE author_id = %s AND question_id = %s",
        (text, str(now), author, question),
    )


def delete_account(driver: Driver, user: int) -> None:
    with driver.transaction():
        driver.execute("DELETE FROM websubmit_answer WHERE author_id = %s", (user,))
        driver.execute("DELETE FROM django_admin_log WHERE user_id = %s", (user,))
        driver.execute("DELETE FROM websubmit_user WHERE id = %s", (user,))


def anonymise_all(driver: Driver) -> int:
    """Another placeholder author for every student and lecture; returns how many were made."""
    with driver.transaction():
        pairs = driver.execute(
            "SELECT DISTINCT a.author_id, q.lecture_id FROM websubmit_answer a "
            "JOIN websubmit_question q ON q.id = a.question_id ORDER BY a.author_id, q.lecture_id"
        ).fetchall()
        emails = [f"{secrets.token_hex(16)}@anonymous.invalid" for _ in pairs]
        driver.insert(
            "INSERT INTO websubmit_user (email, password, apikey, is_admin, is_anon, is_active)",
            [(email, "!", secrets.token_hex(16), False, True, False) for email in emails],
        )
        ids = dict(driver.execute("SELECT email, id FROM websubmit_user WHERE is_anon = %s", (True,)).fetchall())
        questions: dict[int, list[int]] = {}
        for question, lecture in driver.execute("SELECT id, lecture_id FROM websubmit_question").fetchall():
            questions.setdefault(lecture, []).append(question)
        for lecture, asked in questions.items():
            theirs = f"question_id IN ({', '.join(map(str, asked))})"
            given = [(ids[email], pair[0]) for email, pair in zip(emails, pairs, strict=True) if pair[1] == lecture]
            if not driver.dialect.updates_by_lists:
                driver.many(f"UPDATE websubmit_answer SET author_id = %s WHERE author_id = %s AND {theirs}", given)
            elif given:
                source, match = listed(["author", "wrote"], given), (f"u.author_id = g.wrote AND u.{theirs}", ())
                changes = {"author_id": ("g.author", ())}
                driver.execute(*driver.dialect.joined_update("websubmit_answer", source, match, changes))
    return len(pairs)


# Putting back what the operations above cannot: between measurements, never timed


class Saved:
    """An account and its answers as they were, to be put back after a manual deletion."""

    TABLES = (("websubmit_user", "id"), ("websubmit_answer", "author_id"), ("django_admin_log", "user_id"))

    def __init__(self, driver: Driver, user: int) -> None:
        self._driver = driver
        self._rows = [
            (table, list(driver.execute(f"SELECT * FROM {table} WHERE {column} = %s", (user,)).fetchall()))
            for table, column in self.TABLES
        ]
        driver.connection.commit()

    def put_back(self) -> None:
        with self._driver.transaction():
            for table, rows in self._rows:
                if rows:
                    self._driver.insert(f"INSERT INTO {table}", rows)


class Authors:
    """Who wrote what, to be put back after everything was anonymised, by hand or by edna."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        with driver.transaction():
            driver.execute("CREATE TABLE bench_authors (id BIGINT PRIMARY KEY, author_id BIGINT NOT NULL)")
            driver.execute("INSERT INTO bench_authors SELECT id, author_id FROM websubmit_answer")

    def put_back(self) -> None:
        """Also forgets what edna keeps about the anonymised answers."""
        driver = self._driver
        with driver.transaction():
            wrote = {"author_id": ("g.author_id", ())}
            driver.execute(
                *driver.dialect.joined_update("websubmit_answer", ("bench_authors", ()), ("g.id = u.id", ()), wrote)
            )
            driver.execute('DELETE FROM edna_principalentry WHERE "natural" = %s', (False,))
            driver.execute("UPDATE edna_principalentry SET locators = %s", (b"",))
            driver.execute("DELETE FROM edna_bag")
            driver.execute("DELETE FROM websubmit_user WHERE is_anon = %s", (True,))

    def drop(self) -> None:
        with self._driver.transaction():
            self._driver.execute("DROP TABLE bench_authors")
