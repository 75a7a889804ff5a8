"""Groups of devices, or of people: several holders of one key for data at rest, who come and go, and heal after a theft."""
