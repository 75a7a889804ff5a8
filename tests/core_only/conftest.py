"""All here is thorough."""

from tests.thorough import thorough

pytest_collection_modifyitems = thorough(__file__)
