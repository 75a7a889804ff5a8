"""Sockets of processes that hold keys: guardians, monitors. JSON by HTTP, bounded in number, size and time."""
