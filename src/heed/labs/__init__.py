"""Views that a reader changes: the same in the static page and in JupyterLab."""
