"""An application with two principal models: whoever stays, and whoever runs the place."""
