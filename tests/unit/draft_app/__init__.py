"""An application that has, in its models, one of everything that the checks look for. It has no tables."""
