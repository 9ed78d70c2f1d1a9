"""A run: what there is to do, the tables in their order, what is shown meanwhile, and the result."""
