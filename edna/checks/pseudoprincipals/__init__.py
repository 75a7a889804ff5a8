"""Checks of pseudoprincipals: can they be made, with what is to be beside them, and can pages name them."""
