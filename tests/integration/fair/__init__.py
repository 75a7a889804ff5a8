"""A fair: what stands beside everybody there, and what others leave at it."""
