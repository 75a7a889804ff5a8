"""Brings sealed records to the tables of today: migrations, logged updates, values of another kind of database."""
