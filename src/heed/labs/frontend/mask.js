// The mask and axis laboratory: wire attention wrongly, and a meter says which promises break.

import {asker} from "./asking.js";
import {button, choice, group, toggle} from "./controls.js";
import {h, replace, setText} from "./dom.js";
import {attentionMap} from "./map.js";
import {sayer, share} from "./say.js";

const RIGHT = { padding: "before", causal: false, over: "keys", swapped: false };
const NAMES = Object.keys(RIGHT);
const BROKEN = 1e-6;

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "mask");
  const ask = asker(model);
  const words = model.get("words");

  let guessing = false; // the meter is covered until the reader has said what will break
  let guesses = null; // what was said of a wiring
  let guessed = ""; // which wiring that was
  const wired = () => JSON.stringify(NAMES.map((name) => model.get(name)));

  // ------------------------------------------------------------------ what stands there

  const set = (name) => (value) => ask({ [name]: value });
  const option = (name) => (value) => ({ value, label: tell(`${name}.${value}`) });
  const padding = choice({
    label: tell("padding"),
    options: ["before", "after", "none"].map(option("padding")),
    value: model.get("padding"),
    onInput: set("padding"),
  });
  const over = choice({
    label: tell("over"),
    options: ["keys", "queries"].map(option("over")),
    value: model.get("over"),
    onInput: set("over"),
  });
  const causal = toggle({
    label: tell("causal"),
    value: model.get("causal"),
    onInput: set("causal"),
  });
  const swapped = toggle({
    label: tell("swapped"),
    value: model.get("swapped"),
    onInput: set("swapped"),
  });
  const reset = button({
    label: tell("reset"),
    onPress: () => ask({ ...RIGHT }),
  });

  const own = { key: tell("at"), query: tell("from"), row: tell("row"), column: tell("column") };
  own["numbers.caption"] = tell("numbers");
  own.nobody = tell("nobody");
  const renamed = Object.fromEntries(Object.entries(own).map(([key, text]) => [`map.${key}`, text]));
  const map = attentionMap({ strings: { ...strings, ...renamed }, label: tell("map") });
  const sums = words.map(() => h("td", { class: "heed-sum" }));

  const says = h("p", { class: "heed-wiring", "aria-live": "polite" });
  const meter = meterOf(tell);
  const guess = guessOf(tell, (given) => {
    [guesses, guessed] = [given, wired()];
    draw();
    meter.element.focus({ preventScroll: true });
  });
  const first = toggle({
    label: tell("first"),
    help: tell("first.help"),
    onInput: (on) => {
      guessing = on;
      guesses = null;
      draw();
    },
  });
  const root = h(
    "div",
    { class: "heed-sheet heed-mask" },
    group(
      tell("controls"),
      padding.element,
      over.element,
      h("div", { class: "heed-switches" }, causal.element, swapped.element, reset.element),
    ),
    says,
    h(
      "div",
      { class: "heed-map-and-meter" },
      map.element,
      h("div", null, meter.element, guess.element, first.element),
    ),
  );
  replace(el, root);

  // ------------------------------------------------------------------ drawing

  function draw() {
    const { weights, sums: totals, leaks, asked = {} } = model.get("answer");
    const wiring = Object.fromEntries(NAMES.map((name) => [name, asked[name] ?? model.get(name)]));
    padding.value = model.get("padding");
    over.value = model.get("over");
    causal.value = model.get("causal");
    swapped.value = model.get("swapped");
    reset.disabled = NAMES.every((name) => model.get(name) === RIGHT[name]);
    map.draw({ query: words, key: words, weights });
    addSums();
    totals.forEach((sum, i) => setText(sums[i], share(sum)));
    if (guessed !== wired()) guesses = null; // from a notebook, too, comes another wiring
    const covered = guessing && !guesses;
    meter.element.hidden = says.hidden = covered;
    guess.element.hidden = !covered;
    if (covered) guess.clear(wired());
    meter.draw(leaks, wiring, guesses);
    setText(says, told(wiring).map((key) => tell(`told.${key}`)).join(" "));
  }

  // What each row adds up to stands beside it, in the same table.
  function addSums() {
    if (sums[0].isConnected) return;
    const table = map.element.querySelector(".heed-cells");
    const head = h("span", { class: "heed-word" }, tell("sum"));
    table.tHead.rows[0].append(h("th", { scope: "col", class: "heed-sum" }, head));
    [...table.tBodies[0].rows].forEach((row, i) => row.append(sums[i]));
  }

  for (const name of [...NAMES, "answer"]) model.on(`change:${name}`, draw);
  draw();

  return () => {
    for (const name of [...NAMES, "answer"]) model.off(`change:${name}`, draw);
    map.stop();
    ask.stop();
  };
}

// ---------------------------------------------------------------------- what goes on

/** The sentences on a wiring: one for each thing that is wrong with it, or for what is right. */
function told({ padding, causal, over, swapped }) {
  const keys = [];
  if (over === "queries") keys.push("queries", ...(causal ? ["queries.causal"] : []));
  if (swapped) keys.push("swapped");
  if (padding !== "before" && causal) keys.push("covered");
  else if (padding === "none") keys.push("none");
  else if (padding === "after" && over === "keys") keys.push("after");
  return keys.length ? keys : [causal ? "writer" : "reader"];
}

function verdict(name, leak, { causal }) {
  if (leak <= BROKEN) return "holds";
  return name === "ahead" && !causal ? "reader" : "broken";
}

function meterOf(tell) {
  const rows = new Map();
  const body = h("tbody", null);
  const score = h("p", { class: "heed-result", role: "status" });
  const table = h(
    "table",
    { class: "heed-meter" },
    h("caption", null, tell("meter")),
    h(
      "thead",
      { class: "heed-said" },
      h("tr", null, ["promise", "leak", "verdict"].map((key) => h("th", { scope: "col" }, tell(key)))),
    ),
    body,
  );
  const row = (name) => {
    const bar = h("span", { class: "heed-leak-bar" });
    const number = h("span", { class: "heed-leak-number" });
    const said = h("span", { class: "heed-leak-said" });
    const line = h(
      "tr",
      null,
      h("th", { scope: "row" }, tell(`promise.${name}`), h("small", null, tell(`measure.${name}`))),
      h("td", null, h("span", { class: "heed-leak-track", "aria-hidden": "true" }, bar), number),
      h("td", null, said),
    );
    body.append(line);
    rows.set(name, { bar, number, said, line });
    return rows.get(name);
  };
  return {
    element: h("div", { tabindex: -1, class: "heed-meter-box" }, table, score),
    draw(leaks, wiring, guesses) {
      let right = 0;
      for (const [name, leak] of Object.entries(leaks)) {
        const { bar, number, said, line } = rows.get(name) ?? row(name);
        const state = verdict(name, leak, wiring);
        const guessed = guesses?.has(name);
        right += Number(guessed === (state === "broken"));
        bar.style.width = `${100 * Math.min(1, leak)}%`;
        setText(number, share(leak));
        const mine = guesses ? ` ${tell(guessed ? "guessed.broken" : "guessed.holds")}` : "";
        setText(said, `${tell(state)}${mine}`);
        line.dataset.state = state;
      }
      score.hidden = !guesses;
      setText(score, guesses ? tell("score", { right, of: rows.size }) : "");
    },
  };
}

/** A checkbox for each promise; done(names of those that are said to break). */
function guessOf(tell, done) {
  const boxes = ["sum", "padding", "filling", "ahead", "question"].map((name) => [
    name,
    toggle({ label: tell(`promise.${name}`) }),
  ]);
  let about = "";
  const show = button({
    label: tell("show"),
    onPress: () => done(new Set(boxes.filter(([, box]) => box.value).map(([name]) => name))),
  });
  return {
    element: h(
      "fieldset",
      { class: "heed-guess" },
      h("legend", null, tell("guess")),
      boxes.map(([, box]) => box.element),
      h("p", { class: "heed-help" }, tell("guess.help")),
      show.element,
    ),
    /** Nothing is said of another wiring yet. */
    clear(wiring) {
      if (about === wiring) return;
      about = wiring;
      for (const [, box] of boxes) box.value = false;
    },
  };
}
