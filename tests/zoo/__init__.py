"""An application with an example of everything that a schema can do to a disguise library. Installed by `tests.zoo.tables`."""
