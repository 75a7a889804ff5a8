"""Settings, URLs and entry points of the sample site; no part of the library."""
