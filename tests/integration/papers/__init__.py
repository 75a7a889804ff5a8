"""Papers that name their writers in documents and in rows of others."""
