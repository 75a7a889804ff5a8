"""A small discussion site after Lobsters: stories with tags, comments in trees, votes, moderations and messages with two owners."""
