"""docs/errors.md is made from `edna.errors`: ``python -m tests.acceptance.errors_page > docs/errors.md``."""

from __future__ import annotations

import inspect
import re

from edna import errors

INTRODUCTION = """# Errors

Every error that edna raises on purpose is a class in `edna.errors`, below `EdnaError`. Its message is a sentence that says what to do. It
never contains a secret, a locator or a value from your tables. Unless the table says otherwise, nothing was changed.

Catch the branch that you understand: `ReceiptError` for everything that can be wrong with a receipt, `EdnaError` for everything.
"""


def classes() -> list[type[errors.EdnaError]]:
    """As they stand in the module."""
    return [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, errors.EdnaError)]


def page() -> str:
    """The whole page, in the order and with the sections of the module."""
    lines = [INTRODUCTION, "```text", *tree(errors.EdnaError, 0), "```"]
    source = inspect.getsource(errors)
    sections = [(match.start(), match[1]) for match in re.finditer(r"^# --- (.+?) -+$", source, re.MULTILINE)]
    for number, (start, title) in enumerate([(0, "the root"), *sections]):
        end = sections[number][0] if number < len(sections) else len(source)
        names = re.findall(r"^class (\w+)", source[start:end], re.MULTILINE)
        lines += ["", f"## {title[0].upper()}{title[1:]}", "", "| Error | Cause | Remedy |", "|---|---|---|"]
        lines += [line(getattr(errors, name)) for name in names]
    return "\n".join(lines) + "\n"


def tree(cls: type[Exception], depth: int) -> list[str]:
    also = [base.__name__ for base in cls.__bases__ if not issubclass(base, errors.EdnaError) and depth]
    own = "    " * depth + cls.__name__ + (f" (also a {also[0]})" if also else "")
    return [own, *(text for child in classes() if cls in child.__bases__ for text in tree(child, depth + 1))]


def line(cls: type[Exception]) -> str:
    """
    Raises:
        ValueError: the docstring does not say cause and remedy.
    """
    parts = re.search("Cause: (.+) Remedy: (.+)", " ".join((cls.__doc__ or "").split()))
    if not parts:
        raise ValueError(f"{cls.__name__} does not say cause and remedy")
    return f"| `{cls.__name__}` | {parts[1]} | {parts[2]} |"


if __name__ == "__main__":
    print(page(), end="")
