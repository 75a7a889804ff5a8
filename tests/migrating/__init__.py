"""One site in two versions: people disguise under the first, the site is migrated, and they reveal under the second.

`before` and `after` are the same application (``lobsters``) with other tables. Each version runs in processes of its own, on the same
database: `run` is what those processes do, `test_migrating` starts them.
"""
