"""Runs the work on records, in this process or on the workers of a cluster."""
