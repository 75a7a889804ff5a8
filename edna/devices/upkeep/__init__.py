"""What operators do with the tables of devices: verify them, and put them under another key of the server."""
