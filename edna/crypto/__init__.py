"""Keys and sealed containers. Import the modules: `edna.crypto.keys`, `edna.crypto.sealing`."""
