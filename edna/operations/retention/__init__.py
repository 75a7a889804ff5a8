"""How long bags stay: they expire for good, unless a legal hold is on them."""
