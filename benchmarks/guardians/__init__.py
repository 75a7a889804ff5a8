"""Guardians: what their parts take, whole evaluations over loopback, and a soak while they restart."""
