"""Erasing for good: what a receipt leads to is destroyed, and nothing comes back."""
