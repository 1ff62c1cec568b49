"""The sum that each cell publishes, by kind: how it is stored, drawn, charged and described. Imports only ``base``."""
