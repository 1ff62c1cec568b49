"""What looks after what exists: verify, forget, back up."""
