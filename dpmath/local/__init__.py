"""Reports of devices that trust nobody: what each may send, and what a collector makes of them. Knows ``noise``."""
