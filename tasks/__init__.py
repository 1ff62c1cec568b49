"""The pipeline, in rooms (packages). The first line of a room says what it is for, and which rooms it imports."""
