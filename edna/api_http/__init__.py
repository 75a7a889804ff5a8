"""edna over HTTP, for scripts in a browser: JSON under ``api/1/`` of `edna.urls`, one module for each noun.

Keeps: what `json_view` promises of every route. An edge: knows the door, its errors and settings, and nothing below it.
"""
