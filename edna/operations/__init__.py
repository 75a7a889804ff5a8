"""The operator's door: jobs, schedules, retention, upkeep of the tables, and the trail of who did what.

`edna.api` is for one person at a time and for whoever writes an application; this package is for whoever runs it. It needs no
secret of anybody, and nothing in it can reveal. Each room is one part of the work; commands, the admin site and tasks call them.
"""
