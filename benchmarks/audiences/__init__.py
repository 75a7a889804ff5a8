"""Audiences of many members: what one who goes costs, several at once, and what telling everybody would."""
