"""Pictures that stand still. The ones a reader can change are in ``heed.labs``."""
