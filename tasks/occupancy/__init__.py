"""Finds the hexagon of each record, and counts each user's records per cell. Imports only ``base``."""
