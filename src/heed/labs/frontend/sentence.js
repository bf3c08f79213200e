// A sentence as a line of text, with marks on the words that need one.
//
//   markedLine(name, lang) -> {element, draw(words, marks, after)}      a line under its name
//       marks: for each word null or {class, said}; neighbours with the same mark share it, and what
//       is said is said once for all of them, to those who do not see the mark
//       after: a last remark

import {h} from "./dom.js";
import {END} from "./remarks.js";

export function markedLine(name, lang) {
  const body = h("span", { class: "heed-line-words", lang, dir: "auto" });

  function run(words, mark) {
    const text = words.join(" ");
    if (!mark) return text;
    const said = h("span", { class: "heed-said" }, ` (${mark.said})`);
    return h("span", { class: mark.class, title: mark.said }, text, said);
  }

  return {
    element: h("p", { class: "heed-line" }, h("b", null, name), " ", body),
    draw(words, marks, after = "") {
      const parts = [];
      let start = 0;
      const end = words.at(-1) === END ? words.length - 1 : words.length;
      for (let i = 1; i <= end; i += 1) {
        if (i < end && marks[i]?.class === marks[start]?.class) continue;
        if (parts.length) parts.push(" ");
        parts.push(run(words.slice(start, i), marks[start]));
        start = i;
      }
      if (after) parts.push(" ", h("i", null, after));
      body.replaceChildren(...parts);
    },
  };
}
