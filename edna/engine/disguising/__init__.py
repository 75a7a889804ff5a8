"""Executes a plan: changes rows, writes the records that can undo it. Opens nothing, and knows nothing of a reveal."""
