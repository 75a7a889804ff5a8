"""A service counter: tickets name whoever asked by an e-mail address, and logs are about anything by content type and number."""
