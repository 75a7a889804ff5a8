"""What policy seals, credentials and attestations cost."""
