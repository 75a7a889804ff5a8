"""Lobsters' disguises at the published scale: deleting an account, decay, a topic, each beside hand-written SQL; and storage."""
