"""WebSubmit: students hand in homework, leave, and come back."""
