"""Tags for templates of a site."""
