"""A small application about who owns what: several owners, owners by another column, paths, parents, and mere mentions."""
