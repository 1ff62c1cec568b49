"""The mathematics, in rooms: numpy, scipy and the standard library, and nothing that has a clock or a file."""
