"""What operators do with the table of envelopes, and with what guardians keep that nobody needs."""
