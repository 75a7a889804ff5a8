"""A guardian as a process: what it keeps, what it asks for, and its socket; and how others reach it."""
