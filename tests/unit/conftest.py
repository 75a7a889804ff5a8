"""Unit tests: no deadline for generated examples, because a busy machine is not a defect."""

from hypothesis import settings

settings.register_profile("edna-unit", deadline=None, print_blob=True)
settings.load_profile("edna-unit")
