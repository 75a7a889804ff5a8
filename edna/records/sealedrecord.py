"""One record as a record migration sees it: what one primitive did to one row, by column names.

Keeps: a record of a changed row names the same columns in ``old`` and ``new``; one of a removed row has no ``new``. Does not
know: the ORM, the database, where the record came from or where it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from edna.records.diff import Modified, Removed
from edna.records.values import Value


@dataclass(slots=True, repr=False)
class SealedRecord:
    """What a record migration is given, and what it returns.

    ``operation`` is ``"remove"``, ``"modify"`` or ``"decorrelate"``; ``model`` the lower-case label. ``key`` has the primary
    key by column. Of a removed row, ``old`` has all columns, the key too, and ``new`` is empty. Of a changed row, ``old`` has what
    the changed columns had before the disguise, and ``new`` what the disguise wrote over them.

    Values are as the database driver reads them: texts and numbers as everywhere, but a UUID may be a text, or a
    boolean a number. Values that a rule sets (`set`, `derive`, `another`) are those of Python, as on a model instance. To take a
    value from one column to another, `rename` it or `split_off` it. `repr` shows no values: they are personal data.
    """

    operation: str
    model: str
    key: dict[str, Value]
    old: dict[str, Value]
    new: dict[str, Value] = field(default_factory=dict)
    #: Columns whose values in ``old`` and ``new`` a rule has set.
    python_old: set[str] = field(default_factory=set)
    python_new: set[str] = field(default_factory=set)

    def __repr__(self) -> str:
        return f"<SealedRecord {self.operation} {self.model}>"

    @property
    def removed(self) -> bool:
        """Whether the row was removed, so that the record is the whole row."""
        return self.operation == Removed.word

    def __contains__(self, column: str) -> bool:
        return column in self.old or column in self.key

    def __getitem__(self, column: str) -> Value:
        """What the column had before the disguise; of a changed row, its key's columns too."""
        return self.old[column] if column in self.old else self.key[column]

    def rename(self, column: str, to: str) -> None:
        """Call the column ``to`` from now on, with its values. A record that does not have it stays as it is."""
        for values in (self.key, self.old, self.new):
            if column in values:
                values[to] = values.pop(column)
        for names in (self.python_old, self.python_new):
            if column in names:
                names.remove(column)
                names.add(to)

    def drop(self, column: str) -> None:
        """Forget the column and its values."""
        self.old.pop(column, None)
        self.new.pop(column, None)

    def set(self, column: str, value: Value) -> None:
        """Bring the row back with this value. Of a changed row only if the record is about the column."""
        if self.removed or column in self.old:
            self.old[column] = value
            self.python_old.add(column)

    def derive(self, column: str, function: Callable[..., Value], *sources: str) -> None:
        """Set ``column`` to ``function`` of the values of ``sources``, as the migration did for the rows that were there.

        Of a changed row, for the old and for the disguised values; one that is about none of ``sources`` stays as it is.

        Raises: KeyError if a changed row's record has some of the sources and not all.
        """
        if self.removed or any(name in self.old for name in sources):
            self.old[column] = function(*[self[name] for name in sources])
            self.python_old.add(column)
            if not self.removed:
                self.new[column] = function(
                    *[self.new[name] if name in self.new else self.key[name] for name in sources]
                )
                self.python_new.add(column)

    def split_off(
        self, model: str, columns: Mapping[str, str], *, key: Mapping[str, str], **values: Value
    ) -> SealedRecord | None:
        """Move columns into a record of a row of another table, and return that; None if this record has none of them.

        ``columns`` maps this record's names to the other table's, ``key`` the other table's names to those here (``{"story":
        "id"}``): by them the row is found that belongs to this one. ``values`` are further columns of a row that was removed.
        """
        if not self.removed and not any(name in self.old for name in columns):
            return None
        part = SealedRecord(self.operation, model.lower(), {name: self[source] for name, source in key.items()}, {})
        sides = (
            (self.old, part.old, self.python_old, part.python_old),
            (self.new, part.new, self.python_new, part.python_new),
        )
        for name, to in columns.items():
            for source, target, python, python_there in sides:
                if name in source:
                    target[to] = source.pop(name)
                if name in python:
                    python.remove(name)
                    python_there.add(to)
        if self.removed:
            part.old |= part.key | values
            part.python_old |= set(values)
        return part

    def another(self, model: str, **values: Value) -> SealedRecord:
        """A further row that comes back with this one. An automatic primary key that is left out is given at the reveal."""
        return SealedRecord(Removed.word, model.lower(), {}, values, python_old=set(values))

    def change(
        self, model: str, *, key: Mapping[str, Value], old: Mapping[str, Value], new: Mapping[str, Value]
    ) -> SealedRecord:
        """A change to undo in another row: a reveal puts ``old`` back where ``new`` stands. For what was merged into that row."""
        if set(old) != set(new):
            raise ValueError("a change names the same columns in old and new")
        return SealedRecord(
            Modified.word,
            model.lower(),
            dict(key),
            dict(old),
            dict(new),
            python_old=set(old),
            python_new=set(new),
        )
