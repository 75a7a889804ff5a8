"""The monitor's process: what it does, what it keeps, how it is reached."""
