"""The Prefect flows, and the command line that calls them."""
