"""Undoes a disguise from opened records. Does not care who opened them, and knows nothing of how a disguise is done."""
