"""One loop, what it minimises, and how its learning rate moves."""
