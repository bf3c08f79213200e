"""A reader with a browser, who notes what a page does. For the tests of the pages and the bench."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import yaml
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Response

from heed.__main__ import Handler

ROOT = Path(__file__).resolve().parents[1]
PHONE = {"width": 390, "height": 780}
PATIENCE = 120_000  # milliseconds: on a machine that trains a model beside it, all takes long


def pages() -> list[str]:
    """The pages of the book in their order, as in chapters/03_additive."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    return [toc["root"], *(c["file"] for part in toc["parts"] for c in part["chapters"])]


class Forgetful(Handler):
    """Tests put one file after another at the same address: a browser must ask for each anew."""

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of `folder` on a free port, for as long as the block lasts."""
    handler = partial(Forgetful, directory=str(folder))
    web = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=web.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{web.server_port}"
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


@dataclass
class Log:
    """What a page said, what it fetched, and what it should not have asked for."""

    home: str
    console: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    fetched: list[Response] = field(default_factory=list)
    closed: bool = False
    """Nothing more is written down: what comes now is the tests' own doing."""

    def watch(self, page: Page) -> None:
        page.on("request", lambda request: self._asked(request.url))
        page.on("requestfailed", lambda request: self._failed(request.url))
        page.on("response", lambda response: self._answered(response))
        page.on("pageerror", lambda error: self._said("error", str(error)))
        page.on("console", lambda message: self._said(message.type, message.text))

    def _asked(self, url: str) -> None:
        if not self.closed and not url.startswith((self.home, "data:", "blob:")):
            self.elsewhere.append(url)

    def _failed(self, url: str) -> None:
        if not self.closed:
            self.missing.append(url)

    def _answered(self, response: Response) -> None:
        if self.closed:
            return
        self.fetched.append(response)
        if response.status >= 400:
            self.missing.append(f"{response.status} {response.url}")

    def _said(self, kind: str, text: str) -> None:
        if not self.closed and kind in {"error", "warning"}:
            self.console.append(f"{kind}: {text}")

    @property
    def complaints(self) -> list[str]:
        return self.console + self.elsewhere + self.missing

    def sizes(self) -> dict[str, int]:
        """Gzipped bytes of all that was fetched."""
        return {
            answer.url: len(gzip.compress(answer.body(), 6))
            for answer in self.fetched
            if answer.ok and answer.url.startswith(self.home)
        }


def settle(page: Page) -> None:
    """Until nothing loads any more and the end of the page has been seen."""
    page.wait_for_load_state("networkidle")
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.wait_for_load_state("networkidle")


def before_labs(sizes: dict[str, int]) -> dict[str, int]:
    """Without the runtime and the models, which come when a lab is near and not before."""
    late = ("/_static/ort/", "/_static/models/")
    return {url: size for url, size in sizes.items() if not any(part in url for part in late)}


def weigh(browser: Browser, home: str, name: str) -> dict[str, int]:
    """What a reader who comes to this page first has to fetch: gzipped bytes of each file."""
    log, page = Log(home), browser.new_page()
    page.set_default_timeout(PATIENCE)
    log.watch(page)
    page.goto(f"{home}/{name}.html")
    settle(page)
    sizes = before_labs(log.sizes())
    page.close()
    return sizes


# Text of one look on one ground has one contrast, and axe takes a millisecond for each piece. With
# the thousands of letters in a chapter's code and equations that was most of the time that the
# tests of the pages took. So five pieces of each look are left to it. What comes to lie over other
# things (by its position, by a float, by a margin below zero) is a ground of its own.
_FIVE_OF_EACH_LOOK = """() => {
    const keys = new Map();
    const number = (of) => keys.get(of) ?? keys.set(of, keys.size).get(of);
    const grounds = new Map([[null, ""]]);
    const plain = "rgba(0, 0, 0, 0),none,1,none,normal,none,none,none,auto,visible";
    const counts = new Map();
    for (const each of document.querySelectorAll("html, body, body *")) {
        const style = getComputedStyle(each);
        const own = [
            style.backgroundColor, style.backgroundImage, style.opacity, style.filter,
            style.mixBlendMode, style.transform, style.clipPath, style.mask, style.clip,
            style.overflow,
        ].join();
        const inPlace = style.float === "none" && !style.margin.includes("-")
            && (style.position === "static"
                || (style.position === "relative" && /^((auto|0px) ?)+$/.test(style.inset)));
        const above = grounds.get(each.parentElement);
        const here = inPlace ? own : `${own} ${number(each)}`;
        grounds.set(each, here === plain ? above : number(`${here}|${above}`));
        delete each.dataset.axeAlike;
        const says = each.matches("input, select, textarea")
            || [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!says || !each.checkVisibility({ visibilityProperty: true })) continue;
        const look = [
            grounds.get(each), style.color, style.webkitTextFillColor, style.fontSize,
            style.fontWeight, style.textShadow, each.localName,
        ].join();
        counts.set(look, (counts.get(look) ?? 0) + 1);
        if (counts.get(look) > 5) each.dataset.axeAlike = "";
    }
}"""

_AXE = Axe(
    AXE_SCRIPT + "\naxe.configure({ rules: [{ id: 'color-contrast',"
    " selector: '*:not([data-axe-alike])' }] });"
)


def serious(page: Page) -> dict[str, list[str]]:
    """What axe finds serious or critical: the rule, and the first places that break it."""
    page.evaluate(_FIVE_OF_EACH_LOOK)
    options = {"resultTypes": ["violations"]}  # half the time
    return {
        found["id"]: [node["html"][:200] for node in found["nodes"][:3]]
        for found in _AXE.run(page, options=options).response["violations"]
        if found["impact"] in {"serious", "critical"}
    }


@dataclass
class Visit:
    """All that the tests want to know of one page, from two looks at it."""

    log: Log
    sizes: dict[str, int]
    equations: int
    equations_set: int
    silent_pictures: list[str]
    axe: dict[str, dict[str, list[str]]]
    widths: dict[int, int]


_AT_REST = "document.getAnimations().every((each) => each.playState !== 'running')"
_SILENT = "img:not([alt]), article img[alt=''], article svg[role=img]:not([aria-label])"


def look_at(browser: Browser, address: str, name: str) -> Visit:
    log, url = Log(address), f"{address}/{name}.html"
    page = browser.new_page(color_scheme="light")
    page.set_default_timeout(PATIENCE)
    log.watch(page)
    page.goto(url)
    settle(page)
    sizes = before_labs(log.sizes())
    equations = page.locator(".math").count()
    equations_set = page.locator(".math mjx-container:not(:has(mjx-merror))").count()
    silent = [
        picture.evaluate("e => e.outerHTML.slice(0, 160)")
        for picture in page.locator(_SILENT).all()
    ]
    log.closed = True  # axe itself fetches, and misses, stylesheets
    page.evaluate("window.scrollBy(0, -400)")  # who turns back is offered the way to the top
    axe = {}
    for look in ("light", "dark"):
        page.emulate_media(color_scheme=look)
        page.wait_for_function("look => document.documentElement.dataset.theme === look", arg=look)
        page.wait_for_function(_AT_REST)  # colours take a moment to change
        axe[look] = serious(page)
    page.close()

    phone = browser.new_page(viewport=PHONE, has_touch=True)
    phone.set_default_timeout(PATIENCE)
    log.closed = False
    log.watch(phone)
    phone.goto(url)
    settle(phone)
    widths = {}
    for width in (360, 390):
        phone.set_viewport_size({"width": width, "height": 780})
        widths[width] = phone.evaluate("document.documentElement.scrollWidth")
    log.closed = True
    phone.wait_for_function(_AT_REST)
    axe["phone"] = serious(phone)
    phone.close()
    return Visit(log, sizes, equations, equations_set, silent, axe, widths)
