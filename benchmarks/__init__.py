"""Benchmarks of the operations that people wait for, beside what a developer would have written by hand: docs/benchmarks.md."""
