"""Parts that more than one model is built from."""
