"""The pages: stories and comments, what members keep for themselves, moderation, accounts, and what is disguised."""
