"""What a reveal finds around its records: rows as they stand, who else owns them, files in storages, pseudoprincipals that were swept.

Invariant: whatever asks here gets an answer about now. Knows opened records; knows nothing of what one reveal has done so far.
"""
