"""The audit: what disguises do with what looks personal, and whether values of one person are still to be read while they are disguised.

Reads, never writes. What it tells names tables, columns and keys, never contents, so that it can be mailed. Uses the door, model
definitions and raw tables; knows no bag and no record.
"""
