"""Keeping edna's tables well: what is looked at, swept up and rewritten, and the numbers and the verdict that operators read."""
