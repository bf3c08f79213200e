"""One lab on a page, as a reader has it before the eyes, and what readers type."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect
from reader import PATIENCE

NASTY = {
    "markup": "<img src=x onerror=\"document.title='broken'\"> <b>cat</b> & &amp; "
    "<script>alert(2)</script>",
    "empty": "",
    "blank": "   ",
    "emoji": "I love 🐈‍⬛ and 👩🏽‍🚀 cats 🇫🇷 👩‍👩‍👧‍👦🏳️‍🌈.",
    "right to left": "שלום, I said مرحبا to the cat.",
    "digits": "3,000 cats at 2:30 in 1992, 1 of 7, 5,678.9.",
    "only unknown words": "Zyx qwv blorf snark",
    "500 words": "the cat " * 250,
    "one letter": "a",
    "one long word": "x" * 3000,
    "combining": "c\u0301a\u0300t e\u0301te\u0301 Z\u0351\u036b\u0343\u036a",
}


def answered(root: Locator, act: Callable[[], object]) -> None:
    """Act, and wait for the answer."""
    before = int(root.get_attribute("data-count") or 0)
    act()
    root.page.wait_for_function(
        "([lab, before]) => Number(lab.dataset.count) > before",
        arg=[root.element_handle(), before],
    )


class LabOnPage:
    """A lab whose model is at work. box: the name of the field for a text of the reader's own."""

    box = ""

    def __init__(self, page: Page, place: int = 0) -> None:
        self.page = page
        self.root = page.locator("heed-lab").nth(place)
        self.root.scroll_into_view_if_needed()
        expect(self.root).to_have_attribute("data-live", "true", timeout=PATIENCE)

    def after(self, act: Callable[[], object]) -> None:
        answered(self.root, act)

    def write(self, text: str) -> None:
        self.after(lambda: self.root.get_by_label(self.box).fill(text))

    def cell(self, row: int, column: int) -> Locator:
        return self.root.locator(f"td[data-row='{row}'][data-column='{column}']")


MOUNT = """async (html) => {
    globalThis.mounted?.stop();
    globalThis.mounted?.el.remove();
    const here = (name) => new URL(`labs/${name}`, location.href).href;
    const given = new DOMParser().parseFromString(html, "text/html");
    const kind = given.querySelector("heed-lab").getAttribute("kind");
    const [{ render }, { store }] = await Promise.all([`${kind}.js`, "store.js"].map(
        (name) => import(here(name))));
    const strings = await (await fetch(here("strings.en.json"))).json();
    const { settings, ...facts } = JSON.parse(given.querySelector("script").textContent);
    const el = document.createElement("div");
    el.id = "mounted";
    el.className = "heed-lab";
    document.querySelector("main").append(el);
    const model = store({ ...facts, ...settings, strings });
    globalThis.mounted = { el, model, stop: render({ model, el }) };
}"""


class Mounted:
    """A view without anybody who answers: it draws what a test gives it, as from a kernel."""

    def __init__(self, page: Page, html: str) -> None:
        page.evaluate(MOUNT, html)
        self.page = page
        self.root = page.locator("#mounted")

    def give(self, **changes: Any) -> None:
        """Settings, or parts of the answer, from a kernel."""
        self.page.evaluate(
            """({ answer, ...changes }) => {
                const { model } = globalThis.mounted;
                const next = answer && { answer: { ...model.get("answer"), ...answer } };
                model.set({ ...changes, ...next });
            }""",
            changes,
        )

    def fails(self, **changes: Any) -> None:
        """A reader's change that the model fails at is told, and nobody waits for it."""
        sheet = self.root.locator(".heed-sheet").first
        expect(sheet).to_have_attribute("aria-busy", "false")
        self.give(**changes)
        expect(sheet).to_have_attribute("aria-busy", "true")
        self.give(answer={"message": "failed", "count": 2})
        expect(sheet).to_have_attribute("aria-busy", "false")
        expect(self.root.locator(".heed-status").first).to_contain_text("The model failed at this.")
