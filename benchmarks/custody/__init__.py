"""A key that stays in the browser, beside one that is used on the server: the same pages in Chromium, and what they take to get ready."""
