"""Audiences: wide roles whose members come and go, re-keyed in O(log n); and what only several of them open together."""
