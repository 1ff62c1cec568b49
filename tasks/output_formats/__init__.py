"""The published files: columns, hexagon outlines, and one writer for each format. Imports only ``base``."""
