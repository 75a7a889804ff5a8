"""A forum whose pages expect a profile and settings beside every member."""
