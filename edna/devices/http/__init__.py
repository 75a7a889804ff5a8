"""Devices over HTTP, where keys stay in browsers: `routes`, and what is checked of what comes there."""
