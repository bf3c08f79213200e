"""The front end as one text, for anywidget.

In the page the modules of ``labs/frontend`` load each other by relative addresses. anywidget loads
a module from a blob: address, and relative to that there is nothing. So here all modules that a
view needs travel as texts inside a small loader, which gives each one a blob: address of its own
and writes those addresses where the imports stand.
"""

import json
import re
from functools import cache
from pathlib import Path

FRONTEND = Path(__file__).parent / "frontend"

_IMPORT = re.compile(r"""^import \{[^}]*\} from "\./([\w/.-]+\.js)";$""", re.MULTILINE)
_ANY_IMPORT = re.compile(r"^[ \t]*import\b(?!\().*$", re.MULTILINE)

# A view's element becomes a lab's: the page has <heed-lab class="heed-lab"> around it.
_LOADER = r"""
const modules = MODULES;
const addresses = {};
const imports = /^(import \{[^}]*\} from )"\.\/([^"]+)";$/gm;
for (const [name, text] of modules) {
  const linked = text.replace(imports, (line, start, other) => `${start}"${addresses[other]}";`);
  addresses[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
}
// Not awaited here: anywidget gives this module two seconds to be there, and after that it drops
// all that the kernel says. A busy machine may need longer for the modules behind it.
const coming = import(addresses[ENTRY]);
const done = () => Object.values(addresses).forEach((address) => URL.revokeObjectURL(address));
coming.then(done, done);
export default {
  async render(context) {
    context.el.classList.add("heed-lab");
    return (await coming).render(context);
  },
};
"""


def needed(entry: str, folder: Path = FRONTEND) -> dict[str, str]:
    """The text of each module that ``entry`` needs, itself last, each after those it imports."""
    found: dict[str, str] = {}
    waiting: list[str] = []

    def add(name: str) -> None:
        if name in found:
            return
        if name in waiting:
            raise ValueError(f"{' → '.join([*waiting, name])}: modules import each other in a ring")
        text = (folder / name).read_text("utf-8")
        odd = [line for line in _ANY_IMPORT.findall(text) if not _IMPORT.fullmatch(line)]
        if odd:
            raise ValueError(
                f'{name}: write {odd[0].strip()!r} as import {{a, b}} from "./x.js"; on one line'
            )
        waiting.append(name)
        for other in _IMPORT.findall(text):
            add(other)
        waiting.pop()
        found[name] = text

    add(entry)
    return found


@cache
def bundle(entry: str, folder: Path = FRONTEND) -> str:
    """One module that exports what anywidget asks for: ``default.render`` of the entry's view."""
    pairs = list(needed(entry, folder).items())
    parts = {"MODULES": json.dumps(pairs, ensure_ascii=False), "ENTRY": json.dumps(entry)}
    return re.sub("MODULES|ENTRY", lambda found: parts[found.group()], _LOADER).strip()


@cache
def style(folder: Path = FRONTEND) -> str:
    """The style sheet of all labs."""
    return (folder / "labs.css").read_text("utf-8")
