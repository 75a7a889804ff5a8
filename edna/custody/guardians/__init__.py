"""Guardians: processes of different parties, some of whom together help a person to their key again, none of whom learns it."""
