"""Groups of devices: what it takes to make an operation and to read it, and how many bytes it has."""
