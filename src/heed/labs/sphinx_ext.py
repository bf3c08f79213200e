"""What the static pages need of Sphinx beyond its settings. Each part mends one thing."""

import re
from base64 import b64encode
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_STATE = "application/vnd.jupyter.widget-state+json"

_FRONT_DOOR = """<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="{icon}">
<meta http-equiv="refresh" content="0; url={first}">
</head>
<body>
<main><h1><a href="{first}">{title}</a></h1></main>
</body>
</html>
"""


def without_widget_state(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """A notebook that held a widget carries the widget's whole state, and each page would repeat
    it for a widget manager that we do not ship. Our widgets draw themselves from their text/html
    instead, so the state goes.
    """
    scripts = context.get("script_files")
    if scripts is not None:
        scripts[:] = [
            script for script in scripts if getattr(script, "attributes", {}).get("type") != _STATE
        ]


def list_of_references(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """docutils puts entries of the role doc-biblioentry, which is going out of use, into a list,
    and a list may hold only items: a screen reader would count none.
    """
    if "doc-biblioentry" in context.get("body", ""):
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def pictures_that_scroll(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """On a phone a wide picture scrolls in its own box; who has a keyboard must get into it."""
    box = '<figure class="heed-picture"'
    if box in context.get("body", ""):
        context["body"] = context["body"].replace(box, f'{box} tabindex="0"')


class Meanings:
    """A link to the glossary says what the word means when a mouse rests on it. A keyboard or a
    finger follows the link."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def put(self, app: Sphinx, doctree: nodes.document, docname: str) -> None:
        """Give each link of a page the meaning as its title."""
        self._found = self._found or dict(definitions(app))
        for link in doctree.findall(nodes.reference):
            place = link.get("refid") or str(link.get("refuri", "")).partition("#")[2]
            if place in self._found:
                link["reftitle"] = self._found[place]


def definitions(app: Sphinx) -> Iterator[tuple[str, str]]:
    """The place of each term in a glossary, as in term-query, and what it means."""
    objects = app.env.get_domain("std").get_objects()
    for docname in sorted({place for _, _, kind, place, _, _ in objects if kind == "term"}):
        for item in app.env.get_doctree(docname).findall(nodes.definition_list_item):
            meaning = plainly(next(item.findall(nodes.paragraph)))
            for term in item.findall(nodes.term):
                yield from ((place, meaning) for place in term["ids"])


def plainly(paragraph: nodes.paragraph) -> str:
    """The first sentence of a definition without marks: no citations, formulas as one would type
    them."""
    copy = paragraph.deepcopy()
    for mark in list(copy.findall(pending_xref)):
        if mark.get("refdomain") == "cite":
            mark.parent.remove(mark)
    for formula in list(copy.findall(nodes.math)):
        typed = formula.astext()
        for tex, letter in (
            (r"^\top", "ᵀ"),
            (r"\sum", "Σ"),
            (r"\tilde h", "h\u0303"),
            (r"\log", "log "),
        ):
            typed = typed.replace(tex, letter)
        formula.replace_self(nodes.Text(re.sub(r"[\\{}]", "", typed)))
    text = re.sub(r"\s+([.,;:])", r"\1", " ".join(copy.astext().split()))
    return re.split(r"(?<=[.?!])\s", text, maxsplit=1)[0]


def front_door(app: Sphinx, exception: Exception | None) -> None:
    """index.html leads on to the first page, which lies in a folder. Jupyter Book would write a
    bare redirect, and a browser that finds no icon named there asks the host's root for one. The
    icon stands in the page itself: one that was still being fetched would be broken off.
    """
    if exception is not None or app.builder.format != "html":
        return
    icon = b64encode((Path(app.confdir) / app.config.html_favicon).read_bytes()).decode()
    given = {
        "lang": app.config.language,
        "title": app.config.html_title,
        "icon": f"data:image/svg+xml;base64,{icon}",
        "first": app.builder.get_target_uri(app.config.root_doc),
    }
    page = _FRONT_DOOR.format(**{name: escape(text) for name, text in given.items()})
    (Path(app.outdir) / "index.html").write_text(page, "utf-8")


def icons_from_the_font(app: Sphinx, exception: Exception | None) -> None:
    """The theme brings its icons twice: as a font, which its stylesheet needs anyway, and as a
    script of 540 kB gzipped. The font is enough.
    """
    script = Path(app.outdir) / "_static" / "scripts" / "fontawesome.js"
    if exception is None and script.is_file():
        script.write_text("/* the icons come from the font */\n", "utf-8")


def labs_that_answer(app: Sphinx, exception: Exception | None) -> None:
    """The front end, the runtime and the models of the labs, beside the pages."""
    if exception is not None or app.builder.format != "html":
        return
    from heed.experiments.graphs import ExportError
    from heed.labs.site import AssetError, copy_assets, exported

    vendor = Path(app.srcdir) / "book" / "_vendor"
    try:
        copy_assets(Path(app.outdir) / "_static", exported(), vendor=vendor)
    except (AssetError, ExportError) as fault:
        raise ExtensionError(str(fault)) from None


def setup(app: Sphinx) -> dict[str, bool]:
    # 900: after MyST-NB, which puts the state there at the default priority of 500.
    app.connect("html-page-context", without_widget_state, priority=900)
    app.connect("html-page-context", list_of_references)
    app.connect("html-page-context", pictures_that_scroll)
    app.connect("doctree-resolved", Meanings().put)
    # Before sphinx_external_toc, which writes its redirect only where there is no index.html yet.
    app.connect("build-finished", front_door, priority=100)
    app.connect("build-finished", icons_from_the_font)
    app.connect("build-finished", labs_that_answer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
