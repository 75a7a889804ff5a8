"""What `benchmarks` and `loadtest` share, and the tests take too: servers, the bare driver, percentiles, goals, the machine, drawing.

Knows no application, no operation of edna, and neither of the two that use it.
"""
