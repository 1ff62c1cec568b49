"""Looks after what was stored and released: verifies, forgets and backs up."""
