"""The SQL of the pipeline: one statement a file, read by tasks.base.warehouse."""
