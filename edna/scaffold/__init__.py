"""First drafts of disguises: what ``manage.py edna_scaffold`` writes, from model definitions alone."""
