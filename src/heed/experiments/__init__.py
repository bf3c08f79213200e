"""Every trained model of the book: how it was made, what it scored, where it lies."""
