"""Turns input files into valid records and counts every row; has rooms for what `init` and `record` do with files."""
