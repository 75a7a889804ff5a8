"""How rows hang together: names of principals, order of tables, families, what stands in the way of a row. Decides nothing."""
