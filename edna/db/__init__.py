"""Raw rows, and the transactions they are written in: the one writer of SQL. Knows no disguise."""
