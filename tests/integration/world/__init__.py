"""A small application with everything that WebSubmit lacks: principals with other keys, trees, many-to-many, every type of column."""
