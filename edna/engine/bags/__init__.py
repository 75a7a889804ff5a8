"""Bags: sealed here, opened here, and nowhere else."""
