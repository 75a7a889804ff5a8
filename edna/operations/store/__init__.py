"""The only reader and writer of the tables of operations: jobs, notices, holds, the erasure ledger, the audit trail.

As `edna.store`, whose tables it also reads in bulk: every function takes the database alias, and writers expect to run inside the caller's
transaction. Seals and opens nothing.
"""
