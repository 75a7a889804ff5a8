"""Policy seals by attribute-based encryption: for policies that the monitor does not know. Takes a library in Go that a site builds."""
