"""What a disguise would do: selects, compiles, finds, plans. Reads and never writes; imports nothing that opens a bag."""
