"""Every kind of schema that a real application brings, and what disguise and reveal make of it."""
