// One sentence through the years: what several translators make of it, side by side, with their maps
// on one scale; and below, how good each is on test sentences of that length.
//
// Settings: text, shown. Reads besides: choices, examples, answer, strings, asleep.

import {answered, asker, expecting} from "./asking.js";
import {button, textBox, toggle} from "./controls.js";
import {h, replace, setText} from "./dom.js";
import {attentionMap} from "./map.js";
import {END, remarks} from "./remarks.js";
import {sayer} from "./say.js";
import {same} from "./store.js";
import {fitted, svg, through} from "./svg.js";
import {detokenize} from "./text.js";

const ASKED = ["text", "shown"];
const WATCHED = [...ASKED, "choices", "answer"];
const LONGEST = 60; // words on the x axis
const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [230, 34, 14, 22, 40];

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "years");
  const ask = asker(model);
  const get = (name) => model.get(name);
  const asleep = Boolean(get("asleep")); // a page without its models: there is only to look
  const inPage = get("asleep") !== undefined;
  const choices = get("choices") ?? [];

  // ------------------------------------------------------------------ what is asked

  const box = textBox({
    label: tell("text"),
    value: get("text") ?? "",
    placeholder: tell("placeholder"),
    onInput: (text) => ask({ text }),
  });
  const examples = (get("examples") ?? []).map((text) =>
    button({ label: text, quiet: true, onPress: () => ask({ text }) }),
  );
  const switches = choices.map(({ label, megabytes }, place) =>
    toggle({
      label,
      value: get("shown").includes(place),
      help: inPage && !get("shown").includes(place) && megabytes ? tell("fetches", { megabytes }) : "",
      onInput(on) {
        const others = get("shown").filter((each) => each !== place);
        ask({ shown: on ? [...others, place].sort((a, b) => a - b) : others });
      },
    }),
  );
  const status = h("p", { class: "heed-status", role: "status" });

  // ------------------------------------------------------------------ a card for each

  const cards = choices.map(({ label, note }, place) => {
    const french = h("p", { class: "heed-years-french", lang: "fr", dir: "auto", "aria-live": "polite" });
    const map = attentionMap({ strings, label: tell("map", { name: label }) });
    const none = h("p", { class: "heed-note" }, tell("none"));
    const name = h("p", { class: "heed-years-name" }, swatch(place), label);
    const element = h("section", { class: "heed-years-card", "aria-label": label });
    replace(element, name, note && h("p", { class: "heed-note" }, note), french, map.element, none);
    return { element, french, map, none };
  });

  // ------------------------------------------------------------------ quality by length

  const plot = h("div", { class: "heed-years-plot", role: "img" });
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const buckets = [...new Set(choices.flatMap(({ quality }) => Object.keys(quality)))];
  const legend = h(
    "ul",
    { class: "heed-years-legend", "aria-hidden": "true" },
    choices.map(({ label }, place) => h("li", null, swatch(place), label)),
  );
  const numbers = h(
    "details",
    { class: "heed-numbers" },
    h("summary", null, tell("numbers.open")),
    h("div", { class: "heed-scroll", tabindex: 0 }, table()),
  );
  let width = 0;

  function table() {
    const cell = (result) => (result ? `${result[0].toFixed(1)}${result[1] ? ` ± ${result[1].toFixed(1)}` : ""}` : "–");
    return h(
      "table",
      { class: "heed-years-table" },
      h("caption", null, tell("numbers")),
      h("thead", null, h("tr", null, [tell("who"), ...buckets].map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        null,
        choices.map(({ label, quality }) =>
          h("tr", null, h("th", { scope: "row" }, label), buckets.map((bucket) => h("td", null, cell(quality[bucket])))),
        ),
      ),
    );
  }

  function drawPlot() {
    if (!width) return;
    const words = (get("answer")?.source ?? []).length - 1; // without the end mark
    const x = (n) => LEFT + ((width - LEFT - RIGHT) * n) / LONGEST;
    const y = (bleu) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - bleu / 100);
    const parts = [0, 25, 50, 75, 100].flatMap((bleu) => [
      svg("path", { class: "grid", d: `M${LEFT} ${y(bleu)}H${width - RIGHT}` }),
      svg("text", { x: LEFT - 6, y: y(bleu) + 4, "text-anchor": "end" }, String(bleu)),
    ]);
    for (const n of [0, 15, 30, 45, 60]) {
      parts.push(svg("text", { x: x(n), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, String(n)));
    }
    parts.push(svg("text", { class: "name", x: LEFT, y: 12 }, tell("bleu")));
    parts.push(svg("text", { class: "name", x: width - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, tell("words")));
    if (words > 0) {
      const at = x(Math.min(words, LONGEST));
      const right = at > width / 2;
      parts.push(
        svg("path", { class: "here", d: `M${at.toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}` }),
        svg(
          "text",
          { class: "yours", x: at + (right ? -6 : 6), y: y(62), "text-anchor": right ? "end" : "start" },
          tell("yours", { words }),
        ),
      );
    }
    choices.forEach(({ quality }, place) => {
      const points = Object.entries(quality).flatMap(([bucket, result]) => {
        const [low, high] = ends(bucket);
        return result ? [[x((low + high) / 2), y(result[0])]] : [];
      });
      const kind = `s${place % 6}${get("shown").includes(place) ? " shown" : ""}`;
      parts.push(svg("path", { class: `line ${kind}`, d: through(points) }));
      parts.push(...points.map(([cx, cy]) => dot(place, cx, cy, kind)));
    });
    plot.replaceChildren(svg("svg", { width, height: HEIGHT, "aria-hidden": "true" }, ...parts));
    plot.setAttribute("aria-label", tell("plot", { said: sentence() }));
  }

  // Of the length that the reader's sentence has.
  function sentence() {
    const words = (get("answer")?.source ?? []).length - 1;
    if (words < 1) return tell("says.nothing");
    const bucket = buckets.find((each) => words >= ends(each)[0] && words <= ends(each)[1]);
    if (!bucket) return tell("says.outside", { words });
    const [low, high] = ends(bucket);
    const scores = choices
      .filter(({ quality }) => quality[bucket])
      .map(({ label, quality }) => tell("says.one", { name: label, bleu: quality[bucket][0].toFixed(1) }));
    return tell("says", { words, low, high, scores: scores.join(", ") });
  }

  // ------------------------------------------------------------------ the sheet

  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-years" },
      box.element,
      h(
        "div",
        { class: "heed-examples", role: "group", "aria-label": tell("examples"), hidden: asleep || !examples.length },
        h("span", { class: "heed-examples-word", "aria-hidden": "true" }, tell("examples")),
        examples.map((each) => each.element),
      ),
      h(
        "div",
        { class: "heed-years-who", role: "group", "aria-label": tell("switches"), hidden: asleep },
        switches.map((each) => each.element),
      ),
      status,
      h("p", { class: "heed-note" }, tell("scale")),
      h("div", { class: "heed-years-cards" }, cards.map(({ element }) => element)),
      h("p", { class: "heed-label" }, tell("quality")),
      plot,
      legend,
      says,
      numbers,
    ),
  );
  box.element.hidden = asleep;

  let drawnCount = null;

  function draw() {
    const answer = get("answer") ?? {};
    box.value = get("text") ?? "";
    switches.forEach((each, place) => {
      each.value = get("shown").includes(place);
      if (each.value) each.element.querySelector(".heed-help")?.remove(); // it is fetched once
    });
    const waiting = expecting(model, ASKED);
    el.firstChild.setAttribute("aria-busy", String(waiting));
    if (waiting || answer.count === drawnCount) return;
    setText(status, remarks(answer, strings, tell));
    if (!answered(model, ASKED)) return; // a model failed
    drawnCount = answer.count;
    const { source = [], known = [], years = [] } = answer;
    const unknown = source.flatMap((_, j) => (known[j] === false ? [j] : []));
    cards.forEach(({ element, french, map, none }, place) => {
      const said = years[place];
      element.hidden = !said;
      if (!said) return;
      setText(french, detokenize(said.target.filter((word) => word !== END), "fr") || "–");
      map.element.hidden = !said.weights.length;
      none.hidden = said.weights.length > 0;
      const trace = { query: said.weights.length ? said.target : [], key: source, weights: said.weights };
      const strange = said.target.flatMap((word, t) => (word === "<unk>" ? [t] : []));
      if (!same(map.last, trace)) map.draw(trace, { row: -1, unknown, unsure: strange });
      map.last = trace;
    });
    drawPlot();
    setText(says, sentence());
  }

  const stopFitting = fitted(plot, (wide) => {
    width = wide;
    drawPlot();
  });
  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    stopFitting();
    for (const { map } of cards) map.stop();
    box.stop();
    ask.stop();
  };
}

function ends(bucket) {
  return bucket.split("-").map(Number);
}

// Each model's points have a form of their own, for who sees no colours.
function dot(place, x, y, kind) {
  const at = (points) => points.map(([dx, dy]) => `${(x + dx).toFixed(1)} ${(y + dy).toFixed(1)}`).join("L");
  const forms = [
    () => svg("circle", { class: `dot ${kind}`, cx: x.toFixed(1), cy: y.toFixed(1), r: 3.6 }),
    () => svg("path", { class: `dot ${kind}`, d: `M${at([[-3.4, -3.4], [3.4, -3.4], [3.4, 3.4], [-3.4, 3.4]])}Z` }),
    () => svg("path", { class: `dot ${kind}`, d: `M${at([[0, -4.4], [4.2, 3.4], [-4.2, 3.4]])}Z` }),
    () => svg("path", { class: `dot ${kind}`, d: `M${at([[0, -4.8], [4.8, 0], [0, 4.8], [-4.8, 0]])}Z` }),
    () => svg("path", { class: `dot ${kind}`, d: `M${at([[0, 4.4], [4.2, -3.4], [-4.2, -3.4]])}Z` }),
    () => svg("path", { class: `dot open ${kind}`, d: `M${at([[-3.6, -3.6], [3.6, 3.6]])}M${at([[3.6, -3.6], [-3.6, 3.6]])}` }),
  ];
  return forms[place % forms.length]();
}

function swatch(place) {
  const kind = `s${place % 6} shown`;
  return svg(
    "svg",
    { class: "heed-years-swatch", width: 30, height: 12, "aria-hidden": "true" },
    svg("path", { class: `line ${kind}`, d: "M1 6H29" }),
    dot(place, 15, 6, kind),
  );
}
