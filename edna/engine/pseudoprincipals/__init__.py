"""Pseudoprincipals: made, and swept once nothing refers to them."""
