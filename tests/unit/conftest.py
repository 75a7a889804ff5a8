"""Unit tests: no deadline for generated examples, because a busy machine is not a defect; fewer of them in the quick part."""

import pytest
from hypothesis import settings


def pytest_configure(config: pytest.Config) -> None:
    examples = 25 if "not slow" in config.option.markexpr else 100
    settings.register_profile("edna-unit", deadline=None, print_blob=True, max_examples=examples)
    settings.load_profile("edna-unit")
