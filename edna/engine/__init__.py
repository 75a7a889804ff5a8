"""Joins what the developer wrote with what edna stores: plans, disguises and reveals."""
