"""A help desk and its shop: what a customer and somebody of the staff, or three people, have in common."""
