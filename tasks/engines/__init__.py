"""Where records are worked on: in this process, or on the workers of a cluster."""
