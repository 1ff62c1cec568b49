"""Exact noise and choices from random bytes, and how far noise reaches."""
