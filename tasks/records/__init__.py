"""Turns input files into valid records and counts every row. Imports only ``base``."""
