"""Disguises that are written as code, step by step."""
