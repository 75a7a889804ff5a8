"""The operator's pages in the admin site."""
