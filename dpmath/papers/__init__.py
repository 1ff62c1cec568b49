"""Results of the papers that the pipeline does not run; nothing in tasks or flows imports them."""
