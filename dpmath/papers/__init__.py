"""Results of the papers that the pipeline does not use: nothing in tasks or flows imports them."""
