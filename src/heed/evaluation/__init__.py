"""How well a model does: decoding, translation scores, and alignments against gold links."""
