"""Keys are replaced: what the old ones open is sealed anew by the server, or made over to the new ones by a browser."""
