"""Ways to get a secret key back. Import the modules: `base`, and one module per kind of key slot."""
