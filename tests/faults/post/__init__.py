"""A small application with what WebSubmit lacks: rows that two people own, and files."""
