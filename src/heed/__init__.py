"""heed: the models that the book *Attention, from the bottleneck up* explains."""
