// The alignment lab: a sentence, its translation, and where each word of it looks.
//
// The two sentences stand as lines of words over the map. What the pointer, the focus or the map's
// cursor is on is tinted in both. The experiments (hide a word, make the look sharper, force it, widen
// the beam, copy) are settings on the model; whoever answers, the view draws `answer`.

import {answered, asker} from "./asking.js";
import {button, choice, slider, textBox, toggle} from "./controls.js";
import {h, replace, setText, unique} from "./dom.js";
import {changes} from "./lcs.js";
import {wordLine} from "./lines.js";
import {attentionMap} from "./map.js";
import {isNumber, largest, loudest} from "./numbers.js";
import {END, remarks} from "./remarks.js";
import {sayer, share} from "./say.js";

const NEUTRAL = { temperature: 1, hidden: [], look: "own", only: -1, rows: {} };
const WATCHED = ["text", ...Object.keys(NEUTRAL), "shuffle", "width", "copy"];
const PLACES = new Set(["text", "hidden", "rows", "look", "only"]); // seen before the answer comes
const LOOKS = ["own", "uniform", "shuffled", "yours"];
const EXAMPLES = ["short", "mirror", "name", "long"];
const PACE = 130; // ms a word, while a new sentence is written
const LONGEST = 2600; // ms for a whole sentence
const WIDE = 560; // px; where there is less room, the experiments are folded and follow the map
const NOBODY = { side: "none", index: -1 };

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "alignment");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const quiet = matchMedia("(prefers-reduced-motion: reduce)");

  let seen = read(model.get("answer"));
  let at = NOBODY; // the word that the pointer or the focus is on
  let pinned = -1; // the French word that was picked last
  let sending = false; // the settings that change now are the reader's own
  let notice = ""; // one sentence in answer to what the reader just did
  let released = ""; // what a new sentence has undone; said while it is being typed

  // Until a new sentence is answered, the places on the screen are those of the old one.
  const stale = () => !answered(model, ["text"]);

  // ------------------------------------------------------------------ what stands there

  const box = textBox({
    label: tell("text"),
    value: model.get("text") ?? "",
    placeholder: tell("placeholder"),
    onInput: askFor,
  });
  const examples = exampleTexts(model, tell).map(([label, text]) =>
    button({ label, title: text, quiet: true, onPress: () => askFor(text) }),
  );
  const saysId = unique("says");
  const says = h("p", { class: "heed-line-says", id: saysId });
  const english = wordLine({
    label: tell("english"),
    lang: "en",
    saysId,
    onAt: (index) => look({ side: "english", index }),
    onAway: away,
    onPick: hide,
    onAcross: (j) => french.focus(largest(seen.weights.map((row) => row[j] ?? 0))),
  });
  const french = wordLine({
    label: tell("french"),
    lang: "fr",
    saysId,
    onAt: (index) => look({ side: "french", index }),
    onAway: away,
    onPick: pin,
    onAcross: (i) => english.focus(largest(seen.weights[i] ?? [])),
  });
  const status = h("p", { class: "heed-status", role: "status" });
  const score = h("p", { class: "heed-score" });
  const alone = h("div", { class: "heed-alone", hidden: true });

  const map = attentionMap({ strings, label: tell("map") });
  map.onCursor((row, column) => {
    if (row >= 0) look({ side: "french", index: row, from: "map" });
    else if (column >= 0) look({ side: "english", index: column, from: "map" });
    else away();
  });
  map.onPick((row, column) => {
    if (row < 0) hide(column);
    else if (column < 0) pin(row);
    else pickCell(row, column);
  });

  const temperature = slider({
    label: tell("temperature"),
    min: 0.1,
    max: 5,
    step: 0.1,
    value: model.get("temperature") ?? 1,
    format: (value) => value.toFixed(1),
    help: tell("temperature.help"),
    onInput: (value) => send({ temperature: value }),
  });
  const looks = choice({
    label: tell("look"),
    options: LOOKS.map((value) => ({ value, label: tell(`look.${value}`) })),
    value: model.get("look") ?? "own",
    onInput: force,
  });
  const lookHelp = h("p", { class: "heed-help" });
  const again = button({
    label: tell("again"),
    quiet: true,
    onPress: () => send({ shuffle: (model.get("shuffle") ?? 0) + 1 }),
  });
  const reach = choice({
    label: tell("reach"),
    options: [
      { value: "all", label: tell("reach.all") },
      { value: "one", label: tell("reach.one", { word: "…" }) },
    ],
    value: "all",
    onInput: (value) => send({ only: value === "one" ? chosenStep() : -1 }),
  });
  const oneWord = reach.element.querySelectorAll("label span")[1];
  const width = slider({
    label: tell("beam"),
    min: 1,
    max: 5,
    step: 1,
    value: model.get("width") ?? 1,
    format: (value) => tell(value === 1 ? "beam.greedy" : "beam.width", { width: value }),
    help: tell("beam.help"),
    onInput: (value) => send({ width: value }),
  });
  const copy = toggle({
    label: tell("copy"),
    value: model.get("copy"),
    help: tell("copy.help"),
    onInput: (value) => send({ copy: value }),
  });
  const reset = button({ label: tell("reset"), onPress: letGo });

  const experiments = h(
    "details",
    { class: "heed-experiments" },
    h("summary", null, tell("experiments")),
    h("p", null, tell("question")),
    h(
      "div",
      { class: "heed-trials" },
      h("div", null, looks.element, lookHelp, again.element, reach.element),
      h("div", null, temperature.element, width.element),
      h("div", null, copy.element, h("p", { class: "heed-help" }, tell("hide.help")), reset.element),
    ),
  );
  const wide = (el.clientWidth || innerWidth) >= WIDE;
  experiments.open = wide; // folded on a phone
  experiments.hidden = asleep;

  box.element.hidden = asleep;
  const root = h(
    "div",
    { class: "heed-sheet heed-alignment" },
    box.element,
    h(
      "div",
      { class: "heed-examples", role: "group", "aria-label": tell("examples"), hidden: asleep },
      h("span", { class: "heed-examples-word", "aria-hidden": "true" }, tell("examples")),
      examples.map((each) => each.element),
    ),
    status,
    h(
      "div",
      { class: "heed-sentences" },
      sentence(tell("english"), english.element),
      sentence(tell("french"), french.element),
      says,
    ),
    // Where there is room, the controls over the map that they change. On a phone they are as long
    // as the screen, and the map comes first.
    wide ? [experiments, alone, map.element] : [map.element, experiments, alone],
    score,
  );
  replace(el, root);

  // ------------------------------------------------------------------ what the reader does

  // What depends on the answer is drawn when it comes; what the reader put there, at once.
  function send(settings) {
    finish();
    notice = released = "";
    sending = true;
    ask(settings);
    sending = false;
    if (Object.keys(settings).some((key) => PLACES.has(key))) pull();
    else drawControls();
  }

  // A new sentence has new places: what was hidden or picked in the old one means nothing here.
  function askFor(text) {
    const undone = [];
    if ((model.get("hidden") ?? []).length) undone.push(tell("new.hidden"));
    if (Object.keys(model.get("rows") ?? {}).length) undone.push(tell("new.rows"));
    if ((model.get("only") ?? -1) >= 0) undone.push(tell("new.only"));
    const say = undone.length ? undone.join(" ") : released;
    pinned = -1;
    send({ text, hidden: [], rows: {}, only: -1 });
    released = say;
    notify(say);
  }

  function hide(column) {
    if (asleep || stale()) return;
    const hidden = model.get("hidden") ?? [];
    if (hidden.includes(column)) {
      send({ hidden: hidden.filter((each) => each !== column) });
    } else if (hidden.length + 1 >= seen.source.length) {
      notify(tell("hide.last"));
    } else {
      const rows = {};
      for (const [step, keys] of Object.entries(model.get("rows") ?? {})) {
        const left = keys.filter((key) => key !== column);
        if (left.length) rows[step] = left;
      }
      send({ hidden: [...hidden, column].sort((a, b) => a - b), rows });
    }
  }

  function pin(row) {
    if (stale()) return;
    pinned = row;
    if ((model.get("only") ?? -1) >= 0) send({ only: row });
    else drawAll();
  }

  function chosenStep() {
    const step = pinned >= 0 ? pinned : at.side === "french" ? at.index : 0;
    pinned = Math.max(0, Math.min(step, seen.target.length - 1));
    return pinned;
  }

  function force(value) {
    const settings = { look: value };
    if (value === "own" || value === "yours") settings.only = -1;
    send(settings);
  }

  function pickCell(row, column) {
    if (model.get("look") !== "yours" || stale()) return;
    if ((model.get("hidden") ?? []).includes(column)) {
      notify(tell("pick.hidden", { word: seen.source[column] }));
      return;
    }
    const rows = { ...(model.get("rows") ?? {}) };
    const keys = rows[row] ?? [];
    const next = keys.includes(column)
      ? keys.filter((each) => each !== column)
      : [...keys, column].sort((a, b) => a - b);
    if (next.length) rows[row] = next;
    else delete rows[row];
    send({ rows });
  }

  function letGo() {
    pinned = -1;
    send({ ...NEUTRAL, width: 1, copy: true, shuffle: 0 });
  }

  function look(place) {
    if (place.side === at.side && place.index === at.index && place.from === at.from) return;
    finish();
    at = place;
    drawAt();
  }

  // The pointer has gone: back to what has the focus, if anything.
  function away() {
    const focused = document.activeElement;
    const i = french.indexOf(focused);
    const j = english.indexOf(focused);
    if (i >= 0) look({ side: "french", index: i });
    else if (j >= 0) look({ side: "english", index: j });
    else look(NOBODY);
  }

  function notify(text) {
    notice = text;
    drawStatus();
  }

  // ------------------------------------------------------------------ drawing

  // With copies in the place of <unk>, of what it writes now and of what it writes alone.
  const copiedInto = ({ target, copied = [] }) =>
    target.map((word, i) => (copied[i] >= 0 && model.get("copy") ? seen.source[copied[i]] : word));
  const shownWords = () => copiedInto(seen);
  const shownWord = (i) => shownWords()[i];

  function steered() {
    return Object.entries(NEUTRAL).some(
      ([key, value]) =>
        key !== "rows" && JSON.stringify(model.get(key) ?? value) !== JSON.stringify(value),
    );
  }

  function pull() {
    for (const [control, key] of [
      [box, "text"],
      [temperature, "temperature"],
      [looks, "look"],
      [width, "width"],
      [copy, "copy"],
    ]) {
      const value = model.get(key);
      if (value !== undefined && control.value !== value) control.value = value;
    }
    drawAll();
  }

  function drawAll() {
    const hidden = new Set(model.get("hidden"));
    const written = shownWords();
    const changed = seen.alone ? changes(written, copiedInto(seen.alone)) : [];
    english.draw(
      seen.source.map((text, j) => {
        const marks = [];
        if (!seen.known[j]) marks.push("unknown");
        if (hidden.has(j)) marks.push("hidden");
        if (text === END) marks.push("end");
        return { text, marks, pressed: hidden.has(j), said: describe(text, marks) };
      }),
    );
    french.draw(
      written.map((text, i) => {
        const marks = [];
        const copied = text !== seen.target[i];
        if (copied) marks.push("copied");
        else if (text === "<unk>") marks.push("unknown");
        if (changed[i]) marks.push("changed");
        if (text === END) marks.push("end");
        return { text, marks, pressed: i === pinned, said: describe(text, marks) };
      }),
    );
    drawControls();
    drawAlone();
    drawStatus();
    drawMap();
    drawAt();
  }

  function describe(text, marks) {
    const notes = marks.filter((mark) => mark !== "end").map((mark) => tell(`is.${mark}`));
    return [text === END ? tell("end") : text, ...notes].join(", ");
  }

  const selected = () => (at.side === "french" ? at.index : pinned);

  function drawMap() {
    const hidden = (model.get("hidden") ?? []).filter((j) => j < seen.source.length);
    const forcing = model.get("look") === "yours";
    const written = shownWords();
    const rings = forcing
      ? Object.entries(model.get("rows") ?? {}).flatMap(([i, keys]) =>
          keys.map((j) => [Number(i), j, "mine"]),
        )
      : [];
    map.draw(
      { query: written, key: seen.source, weights: seen.weights },
      {
        rings,
        hidden,
        row: selected(),
        pick: forcing && !stale(),
        heads: !stale(),
        unknown: seen.source.flatMap((_, j) => (seen.known[j] ? [] : [j])),
        unsure: seen.target.flatMap((word, i) => (word === "<unk>" ? [i] : [])),
      },
    );
  }

  function drawAt() {
    map.select(selected());
    const side = at.side === "none" && pinned >= 0 ? { side: "french", index: pinned } : at;
    const row = side.side === "french" ? seen.weights[side.index] : undefined;
    const column =
      side.side === "english" ? seen.weights.map((each) => each[side.index] ?? 0) : undefined;
    english.tint(row ?? null);
    french.tint(column ?? null);
    english.light(side.side === "english" ? side.index : -1);
    french.light(side.side === "french" ? side.index : -1);
    // The map says it itself, below. A line that grew here would push the map from under the mouse.
    says.classList.toggle("heed-quiet-line", side.from === "map");
    if (side.from !== "map") setText(says, sentenceOf(side));
  }

  function sentenceOf({ side, index }) {
    if (!seen.target.length) return "";
    if (side === "french" && index < seen.target.length) {
      const parts = [tell("says.french", { word: shownWord(index), looks: lookList(index) })];
      if (seen.target[index] === "<unk>") {
        const key = shownWord(index) === "<unk>" ? "says.unknown" : "says.copied";
        const most = largest(seen.weights[index].slice(0, -1));
        parts.push(tell(key, { word: seen.source[most] }));
      }
      const probability = seen.probability[index];
      if (isNumber(probability)) parts.push(tell("says.sure", { probability: share(probability) }));
      return parts.join(" ");
    }
    if (side === "english" && index < seen.source.length) {
      const word = seen.source[index];
      if ((model.get("hidden") ?? []).includes(index)) return tell("says.hidden", { word });
      const found = loudest(seen.weights.map((row) => row[index] ?? 0));
      const looks = found.map(([i, weight]) => one(shownWord(i), weight)).join(", ");
      const parts = [tell(looks ? "says.english" : "says.nobody", { word, looks })];
      if (!seen.known[index]) parts.push(tell("says.new"));
      return parts.join(" ");
    }
    return tell("says.hint");
  }

  const one = (word, weight) => tell("says.one", { word, weight: share(weight) });
  const lookList = (i) =>
    loudest(seen.weights[i] ?? [])
      .map(([j, weight]) => one(seen.source[j], weight))
      .join(", ") || tell("says.everywhere");

  function drawControls() {
    root.setAttribute("aria-busy", String(stale()));
    reach.disabled = stale(); // it names a word
    const value = model.get("look") ?? "own";
    setText(lookHelp, tell(`look.${value}.help`));
    again.element.hidden = value !== "shuffled";
    reach.element.hidden = value !== "uniform" && value !== "shuffled";
    const only = model.get("only") ?? -1;
    reach.value = only >= 0 ? "one" : "all";
    const step = only >= 0 ? only : pinned >= 0 ? pinned : 0;
    const word = step < seen.target.length ? shownWord(step) : "…";
    setText(oneWord, tell("reach.one", { word }));
    reset.disabled = !(steered() || (model.get("width") ?? 1) !== 1);
  }

  function drawStatus() {
    setText(status, `${notice} ${remarks(seen, strings, tell)}`.trim());
  }

  function drawAlone() {
    const { target, log_prob: now } = seen;
    score.hidden = !target.length;
    const each = Math.exp(now / Math.max(1, target.length));
    const values = { log: signed(now), each: share(each) };
    setText(score, isNumber(now) ? tell("score", values) : tell("score.none"));
    alone.hidden = !seen.alone;
    if (!seen.alone) return;
    const [before, after] = [seen.alone, seen].map((each) =>
      copiedInto(each).filter((word) => word !== END),
    );
    const gone = changes(before, after);
    const come = changes(after, before);
    const same = !gone.includes(true) && !come.includes(true);
    const line = (list, marked, kind) =>
      list.map((word, i) => [
        i ? " " : "",
        marked[i] ? h(kind, { class: `heed-${kind}` }, word) : word,
      ]);
    replace(
      alone,
      h(
        "p",
        { lang: "fr" },
        h("span", { class: "heed-side", lang: "en" }, tell("alone")),
        " ",
        line(before, gone, "del"),
      ),
      h(
        "p",
        { lang: "fr" },
        h("span", { class: "heed-side", lang: "en" }, tell("now")),
        " ",
        line(after, come, "ins"),
      ),
      h("p", null, tell(same ? "same" : "different"), " ", surer(now, seen.alone.log_prob)),
    );
  }

  function surer(now, before) {
    if (!isNumber(now) || !isNumber(before)) return "";
    const gap = now - before;
    const values = { now: signed(now), before: signed(before), times: times(Math.abs(gap), tell) };
    if (Math.abs(gap) < 0.05) return tell("sure.same", values);
    return tell(gap < 0 ? "sure.less" : "sure.more", values);
  }

  // ------------------------------------------------------------------ written word by word

  let timers = [];

  // From the first new word on; what stood there before stays.
  function unfold(from) {
    finish();
    const steps = seen.target.length - from;
    if (quiet.matches || steps <= 0) return;
    const pace = Math.min(PACE, LONGEST / steps);
    const parts = (i) => [french.word(i), map.element.querySelectorAll("tbody tr")[i]];
    for (let i = from; i < seen.target.length; i += 1) {
      for (const part of parts(i)) part?.classList.add("heed-unwritten");
      timers.push(
        setTimeout(() => {
          for (const part of parts(i)) part?.classList.remove("heed-unwritten");
        }, (i - from + 1) * pace),
      );
    }
  }

  function finish() {
    for (const timer of timers.splice(0)) clearTimeout(timer);
    for (const part of root.querySelectorAll(".heed-unwritten")) {
      part.classList.remove("heed-unwritten");
    }
  }

  function hear() {
    const before = seen;
    const next = read(model.get("answer"));
    const anew = next.source.join(" ") !== before.source.join(" ");
    seen = next;
    if (anew) {
      finish();
      at = NOBODY;
      pinned = -1;
    }
    pinned = Math.min(pinned, seen.target.length - 1);
    pull();
    if (anew) unfold(firstDifference(before.target, seen.target));
  }

  const changed = () => sending || pull(); // by the kernel, then

  model.on("change:answer", hear);
  for (const name of WATCHED) model.on(`change:${name}`, changed);
  addEventListener("beforeprint", finish);
  pull();

  // The sentence writes itself once the reader has got there.
  const arrival = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      arrival.disconnect();
      unfold(0);
    },
    { threshold: 0.2 },
  );
  arrival.observe(root.querySelector(".heed-sentences"));

  return () => {
    finish();
    arrival.disconnect();
    removeEventListener("beforeprint", finish);
    model.off("change:answer", hear);
    for (const name of WATCHED) model.off(`change:${name}`, changed);
    box.stop();
    map.stop();
    ask.stop();
  };
}

// ---------------------------------------------------------------------- helpers

function read(answer) {
  return {
    source: [],
    known: [],
    target: [],
    copied: [],
    probability: [],
    weights: [],
    log_prob: 0,
    alone: null,
    read: 0,
    of: 0,
    message: "",
    ...answer,
  };
}

function exampleTexts(model, tell) {
  const given = model.get("examples");
  if (given?.length) return given.map((text) => [text, text]);
  return EXAMPLES.map((name) => [tell(`example.${name}`), tell(`example.${name}.text`)]);
}

function sentence(name, line) {
  return h(
    "div",
    { class: "heed-sentence" },
    h("span", { class: "heed-side", "aria-hidden": "true" }, name),
    line,
  );
}

function firstDifference(before, now) {
  let i = 0;
  while (i < now.length && now[i] === before[i]) i += 1;
  return i;
}

function signed(number) {
  return (number ?? 0).toFixed(2).replace("-", "−");
}

/** How many times more or less probable: no more digits than anybody reads. */
export function times(gap, tell) {
  const factor = Math.exp(gap);
  if (factor < 10) return factor.toFixed(1);
  if (factor < 100) return String(Math.round(factor));
  const unit = 10 ** Math.floor(gap / Math.LN10);
  const number = factor < 1e6 ? Math.round(factor / unit) * unit : 0;
  const power = String(Math.round(gap / Math.LN10)).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  return tell("about", { number: number ? number.toLocaleString("en") : `10${power}` });
}
