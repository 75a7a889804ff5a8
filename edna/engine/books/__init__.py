"""What is kept beside the bags: days of expiry, the erasure ledger, news, measurements, and what is forgotten when an account goes."""
