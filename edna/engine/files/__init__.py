"""The content of files: found by the fields that name it, sealed piece by piece, deleted and written after the commit."""
