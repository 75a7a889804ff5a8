"""What edna writes to files of its own and reads again: the erasure ledger, and all tables on their way to another database."""
