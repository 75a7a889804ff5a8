"""A soak: hours of everything together at a fixed rate, to see what grows: ``python -m benchmarks.soak``."""
