"""The pipeline, in rooms. The first line of a room says what it is for, and which rooms it knows."""
