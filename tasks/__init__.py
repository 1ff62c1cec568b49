"""One module for each step of the pipeline, and what the steps share."""
