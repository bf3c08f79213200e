"""Where sentences, and later pictures and tasks, come from."""
