"""The names of datasets and collections. A device imports it: it needs the standard library alone."""

NAME = r"^[a-z0-9][a-z0-9_-]*$"
"""What the name of a dataset, or of a collection, looks like."""
