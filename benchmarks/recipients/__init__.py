"""What keys of the hybrid kind cost beside those of X25519: sizes and times."""
