"""For `init`: what a source looks like that nobody has described yet, and the configuration that it needs."""
