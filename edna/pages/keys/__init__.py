"""The pages of a person's key: made, kept by a recovery code, brought back, replaced; and what needs nothing but the key: coming back
without an account, deleting for good, taking one's data along.

Keeps: keys, codes and passwords are in the memory of one request, and in the answer that shows a new code. Knows nothing of what a site
offers to hide.
"""

from edna.pages.keys.login import GivesKeyAtLogin, TellsWhatWaits, give_key_at_login
from edna.pages.keys.passwords import KeepsKey, LeadsToKey

__all__ = ["GivesKeyAtLogin", "KeepsKey", "LeadsToKey", "TellsWhatWaits", "give_key_at_login"]
