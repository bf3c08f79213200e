// Two sentences that differ in their verb, and the words that a model expects after each.
//
// Settings: verb, other, tail. Reads besides: choices, answer, strings, asleep.

import {answered, asker, expecting} from "./asking.js";
import {choice} from "./controls.js";
import {h, replace, setText} from "./dom.js";
import {sayer} from "./say.js";

const ASKED = ["verb", "other", "tail"];
const WATCHED = [...ASKED, "answer"];
const END = "</s>";

export function render({ model, el }) {
  const tell = sayer(model.get("strings"), "eating");
  const ask = asker(model);
  const { verbs, tails, foods, colours } = model.get("choices");
  const kinds = new Map([
    ...foods.map((word) => [word, "food"]),
    ...colours.map((word) => [word, "colour"]),
  ]);

  // ------------------------------------------------------------------ what stands there

  const of = (name) =>
    choice({
      label: tell(name),
      options: Object.entries(verbs).map(([value, label]) => ({ value, label })),
      value: model.get(name),
      onInput: (value) => ask({ [name]: value }),
    });
  const [verb, other] = ["verb", "other"].map(of);
  const tail = choice({
    label: tell("tail"),
    options: tails.map((value) => ({ value, label: value || tell("tail.none") })),
    value: model.get("tail"),
    onInput: (value) => ask({ tail: value }),
  });
  for (const each of [verb, other, tail]) each.element.hidden = Boolean(model.get("asleep"));
  const status = h("p", { class: "heed-status", role: "status" });
  const sides = [0, 1].map(() => {
    const caption = h("caption", { lang: "en" });
    const body = h("tbody", { lang: "en" });
    const table = h("table", { class: "heed-eating-table" }, caption, body);
    const shares = h("p", { class: "heed-eating-shares" });
    return { caption, body, shares, element: h("div", null, table, shares) };
  });
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const legend = h(
    "p",
    { class: "heed-help" },
    ...["food", "colour"].flatMap((kind) => [
      h("i", { class: `heed-eating-swatch heed-is-${kind}`, "aria-hidden": "true" }),
      ` ${tell(`legend.${kind}`)} `,
    ]),
  );
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-eating" },
      verb.element,
      other.element,
      tail.element,
      status,
      h("div", { class: "heed-eating-two" }, ...sides.map((side) => side.element)),
      legend,
      says,
    ),
  );

  // ------------------------------------------------------------------ drawing

  const digits = (p) => (Number.isFinite(p) ? p.toFixed(3) : "–");
  const percent = (p) => (Number.isFinite(p) ? (100 * p).toFixed(1) : "–");

  function draw() {
    verb.value = model.get("verb");
    other.value = model.get("other");
    tail.value = model.get("tail");
    const now = answered(model, ASKED);
    const waiting = expecting(model, ASKED);
    el.firstChild.setAttribute("aria-busy", String(waiting));
    setText(status, !waiting && !now ? tell("failed") : "");
    if (!now) return;
    const found = model.get("answer").sides;
    const most = Math.max(...found.flatMap((side) => side.next.map(([, p]) => p ?? 0)), 1e-9);
    found.forEach((side, i) => {
      setText(sides[i].caption, `${side.words.join(" ")} …`);
      replace(
        sides[i].body,
        side.next.map(([word, p]) => {
          const kind = kinds.get(word);
          const name = word === END ? tell("end") : word;
          return h(
            "tr",
            kind ? { class: `heed-is-${kind}` } : null,
            h("th", { scope: "row" }, name, kind ? h("span", { class: "heed-said" }, `, ${tell(kind)}`) : null),
            h("td", null, h("i", { style: { "--part": (p ?? 0) / most } })),
            h("td", null, digits(p)),
          );
        }),
      );
      setText(sides[i].shares, tell("shares", { food: digits(side.food), colour: digits(side.colour) }));
    });
    const [one, two] = found;
    setText(
      says,
      tell("says", {
        one: verbs[model.get("verb")],
        two: verbs[model.get("other")],
        food: percent(one.food),
        food2: percent(two.food),
        colour: percent(one.colour),
        colour2: percent(two.colour),
      }),
    );
  }

  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    ask.stop();
  };
}
