"""WebSubmit's operations: in the library, and over HTTP beside the same site with hand-written SQL behind it."""
