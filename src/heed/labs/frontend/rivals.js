// Several translators and one sentence: the reader changes between them. What each said about the
// sentence stays in a list, so that the next one can be held against it.
//
// Settings: text, choice. Reads besides: choices, answer, strings.

import {answered, asker, expecting} from "./asking.js";
import {choice as choiceOf, textBox} from "./controls.js";
import {h, replace, setText} from "./dom.js";
import {attentionMap} from "./map.js";
import {END, remarks} from "./remarks.js";
import {sayer} from "./say.js";
import {detokenize} from "./text.js";

const WATCHED = ["text", "choice", "choices", "answer"];

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "rivals");
  const ask = asker(model);
  const choices = () => model.get("choices") ?? [];
  const label = () => choices()[model.get("choice")]?.label ?? "";

  const box = textBox({
    label: tell("text"),
    value: model.get("text") ?? "",
    placeholder: tell("placeholder"),
    onInput: (text) => ask({ text }),
  });
  const picked = choiceOf({
    label: tell("choice"),
    options: choices().map((each, i) => ({ value: i, label: each.label, help: each.note })),
    value: model.get("choice"),
    onInput: (next) => ask({ choice: next }),
  });
  const note = h("p", { class: "heed-note" });
  const status = h("p", { class: "heed-status", role: "status" });
  const french = h("p", { class: "heed-french", lang: "fr", dir: "auto", "aria-live": "polite" });
  const bits = h("p", { class: "heed-note" });
  const map = attentionMap({ strings, label: tell("map", { name: label() }) });
  const list = h("tbody");
  const sofar = h(
    "table",
    { class: "heed-sofar" },
    h("caption", null, tell("sofar")),
    h(
      "thead",
      null,
      h("tr", null, h("th", { scope: "col" }, tell("who")), h("th", { scope: "col" }, tell("said"))),
    ),
    list,
  );
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-rivals" },
      box.element,
      picked.element,
      note,
      status,
      h("p", { class: "heed-label" }, tell("heard")),
      french,
      map.element,
      bits,
      h("div", { class: "heed-scroll" }, sofar),
    ),
  );

  let about = null; // the sentence that the list is about
  let heard = new Map(); // place of a model -> what it said
  let drawnCount = null;

  function draw() {
    const answer = model.get("answer") ?? {};
    const { source = [], target = [], weights = [], known = [] } = answer;
    box.value = model.get("text") ?? "";
    picked.value = model.get("choice");
    setText(note, choices()[model.get("choice")]?.note ?? "");
    const now = answered(model, ["text", "choice"]);
    const waiting = expecting(model, ["text", "choice"]);
    el.firstChild.setAttribute("aria-busy", String(waiting));
    if (waiting || answer.count === drawnCount) return;
    setText(status, remarks(answer, strings, tell));
    if (!now) return; // the model failed
    drawnCount = answer.count;
    const words = target.filter((word) => word !== END);
    setText(french, detokenize(words, "fr") || "–");
    map.element.hidden = !weights.length;
    map.draw(
      { query: target, key: source, weights },
      { row: -1, unknown: source.flatMap((_, j) => (known[j] === false ? [j] : [])) },
    );
    setText(bits, weights.length ? tell("bits", { bits: number(answer.bits) }) : "");
    remember(source.join(" "), words);
  }

  const number = (value) => (Number.isFinite(value) ? value.toFixed(2) : "–");

  function remember(sentence, words) {
    if (sentence !== about) heard = new Map();
    about = sentence;
    if (words.length) heard.set(model.get("choice"), words);
    const rows = [...heard].sort(([a], [b]) => a - b);
    replace(
      list,
      rows.map(([place, said]) =>
        h(
          "tr",
          place === model.get("choice") ? { class: "heed-here", "aria-current": "true" } : null,
          h("th", { scope: "row" }, choices()[place]?.label ?? ""),
          h("td", { lang: "fr" }, detokenize(said, "fr")),
        ),
      ),
    );
    sofar.hidden = rows.length < 2;
  }

  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    box.stop();
    ask.stop();
    map.stop();
  };
}
