"""What the static pages need of Sphinx beyond its settings.

A notebook that held a widget carries the widget's whole state, and each page would repeat it
for a widget manager that we do not ship. Our widgets draw themselves from their text/html
instead, so the state goes.
"""

from typing import Any

from sphinx.application import Sphinx

_STATE = "application/vnd.jupyter.widget-state+json"


def without_widget_state(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Drop the embedded widget state from one page's list of scripts."""
    scripts = context.get("script_files")
    if scripts is not None:
        scripts[:] = [
            script
            for script in scripts
            if getattr(script, "attributes", {}).get("type") != _STATE
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    # 900: after MyST-NB, which puts the state there at the default priority of 500.
    app.connect("html-page-context", without_widget_state, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
