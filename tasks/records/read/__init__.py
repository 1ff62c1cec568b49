"""Reading: finds the files of a day, and keeps the rows of each once."""
