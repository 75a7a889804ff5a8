"""Lobsters: a link-sharing site, after the schema and the statistics of the real one. A sample application for edna."""
