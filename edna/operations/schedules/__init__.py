"""Runs what `edna.schedules` declares: the rounds, and whose turn it is to make them."""
