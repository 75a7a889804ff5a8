"""HotCRP: a conference reviews its submissions, people leave it, and come back."""
