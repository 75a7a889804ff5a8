"""WebSubmit with up to a million students, most of them synthetic: deleting and restoring one of them."""
