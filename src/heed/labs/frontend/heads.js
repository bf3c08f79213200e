// The heads lab: a sentence, its translation by a Transformer, and where each of its heads looked.
// The maps of a place stand as thumbnails, a row a layer; one of them is large below. Heads can be
// switched off, and words moved to other places or left without one.
//
// Settings: text, choice, off, source_shift, target_shift, source_places, target_places, place,
// layer, head, row. Reads besides: choices, examples, answer, strings, asleep.

import {asker, expecting} from "./asking.js";
import {button, choice as choiceOf, group, slider, textBox, toggle} from "./controls.js";
import {h, replace, setText, unique} from "./dom.js";
import {CHANGES, PLACES, UNCHANGED, axesOf, isOff, shownOf, switched} from "./headed.js";
import {changes} from "./lcs.js";
import {wordLine} from "./lines.js";
import {attentionMap} from "./map.js";
import {END, remarks} from "./remarks.js";
import {sayer} from "./say.js";
import {same} from "./store.js";
import {detokenize} from "./text.js";
import {thumbnails} from "./thumbnails.js";

const LOOKING = ["place", "layer", "head", "row"]; // nobody is asked for these
const SIDES = ["source", "target"];
const FURTHEST = 60; // free places before a sentence
const THROTTLE = 400;

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "heads");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const get = (name) => model.get(name);
  const own = () => get("choices")[get("choice")];

  let seen = read(get("answer")); // the answer
  let sending = false; // the settings that change now are the reader's own

  // ------------------------------------------------------------------ what the reader does

  function send(settings) {
    sending = true;
    ask(settings);
    sending = false;
    draw();
  }

  function look(settings) {
    const different = Object.keys(settings).some((name) => get(name) !== settings[name]);
    if (!different) return;
    sending = true;
    model.set(settings);
    sending = false;
    model.save_changes();
    drawMaps();
  }

  function askFor(text) {
    look({ row: 0 });
    send({ text });
  }

  // A French word has a row in two of the places, an English one in the other.
  const pick = (row) => look(get("place") === "encoder" ? { place: "cross", row } : { row });

  // ------------------------------------------------------------------ what stands there

  const which = choiceOf({
    label: tell("choice"),
    options: get("choices").map((each, i) => ({ value: i, label: each.label, help: each.note })),
    value: get("choice"),
    onInput: (next) => send({ choice: next }),
  });
  const note = h("p", { class: "heed-note" });
  const box = textBox({
    label: tell("text"),
    value: get("text") ?? "",
    placeholder: tell("placeholder"),
    onInput: askFor,
  });
  const examples = (get("examples") ?? []).map((text) =>
    button({ label: text, quiet: true, onPress: () => askFor(text) }),
  );
  const status = h("p", { class: "heed-status", role: "status" });
  const saysId = unique("says");
  const says = h("p", { class: "heed-says", id: saysId, "aria-live": "polite" });
  const french = wordLine({
    label: tell("words"),
    lang: "fr",
    saysId,
    onAt: (t) => french.word(t) === document.activeElement && pick(t),
    onAway: () => {},
    onPick: pick,
    onAcross: () => maps[get("place")].focus(row(), 0),
  });
  const alone = h("p", { class: "heed-note heed-heads-alone" });

  const where = choiceOf({
    label: tell("where"),
    options: PLACES.map((value) => ({ value, label: tell(`place.${value}`) })),
    value: get("place"),
    onInput: (place) => look({ place, row: 0 }),
  });
  const explained = h("p", { class: "heed-note" });
  const grid = thumbnails({
    tell,
    onPick: (layer, head) => look({ layer, head }),
    onSwitch: (layer, head) => send({ off: switched(get("off"), get("place"), layer, head) }),
  });
  const name = h("p", { class: "heed-heads-name" });
  const maps = Object.fromEntries(
    PLACES.map((place) => {
      const map = attentionMap({ strings, label: tell(`place.${place}`), own: `heads.${place}` });
      map.onPick((i) => i >= 0 && look({ row: i }));
      return [place, map];
    }),
  );
  const shifts = SIDES.map((side) =>
    slider({
      label: tell(`shift.${side}`),
      ...{ min: 0, max: FURTHEST, step: 1, value: get(`${side}_shift`) },
      onInput: (value) => send({ [`${side}_shift`]: value }),
    }),
  );
  const places = SIDES.map((side) =>
    toggle({
      label: tell(`places.${side}`),
      value: get(`${side}_places`),
      onInput: (on) => send({ [`${side}_places`]: on }),
    }),
  );
  const reset = button({ label: tell("reset"), onPress: () => send({ ...UNCHANGED }) });
  const board = h(
    "div",
    { class: "heed-heads-board" },
    grid.element,
    h("div", { class: "heed-heads-large" }, name, Object.values(maps).map((map) => map.element)),
  );

  const root = h(
    "div",
    { class: "heed-sheet heed-heads" },
    which.element,
    note,
    box.element,
    h(
      "div",
      {
        class: "heed-examples",
        role: "group",
        "aria-label": tell("examples"),
        hidden: asleep || !examples.length,
      },
      h("span", { class: "heed-examples-word", "aria-hidden": "true" }, tell("examples")),
      examples.map((each) => each.element),
    ),
    status,
    h("p", { class: "heed-label", "aria-hidden": "true" }, tell("words")),
    french.element,
    alone,
    says,
    h("p", { class: "heed-heads-reset", hidden: asleep }, reset.element),
    where.element,
    explained,
    board,
    h(
      "div",
      { class: "heed-heads-places", hidden: asleep },
      SIDES.map((side, i) => group(tell(`side.${side}`), places[i].element, shifts[i].element)),
    ),
  );
  which.element.hidden = get("choices").length < 2 || asleep;
  box.element.hidden = asleep;
  replace(el, root);

  // ------------------------------------------------------------------ drawing

  function draw() {
    if (sending) return;
    seen = read(get("answer"));
    root.setAttribute("aria-busy", String(expecting(model, ["text", "choice", "off"])));
    setText(status, remarks(get("answer") ?? {}, strings, tell));
    box.value = get("text") ?? "";
    which.value = get("choice");
    setText(note, own().note);
    SIDES.forEach((side, i) => {
      shifts[i].value = get(`${side}_shift`);
      shifts[i].disabled = !get(`${side}_places`);
      places[i].value = get(`${side}_places`);
    });
    reset.disabled = CHANGES.every((setting) => same(get(setting), UNCHANGED[setting]));
    const other = (seen.alone ?? []).filter((word) => word !== END);
    alone.hidden = !seen.alone;
    replace(alone, tell("alone"), " ", h("span", { lang: "fr" }, detokenize(other, "fr") || "–"));
    drawMaps();
    speak();
  }

  // What belongs to the head and the word that are chosen.
  function drawMaps() {
    if (sending) return;
    const [place, layer, head] = shownOf(get, own());
    const off = (l, n) => isOff(get("off"), place, l, n);
    where.value = place;
    setText(explained, tell(`explained.${place}`));
    board.hidden = !seen.target.length;
    grid.draw({
      layers: own().layers[place],
      heads: own().heads,
      maps: seen.maps[place],
      chosen: [layer, head],
      isOff: off,
      locked: asleep,
    });
    const said = tell(off(layer, head) ? "name.off" : "name", { layer, head });
    setText(name, said);
    drawWords(place);
    for (const other of PLACES) maps[other].element.hidden = other !== place || board.hidden;
    const { query, key } = axesOf(place, seen);
    const strange = seen.known.flatMap((known, i) => (known ? [] : [i]));
    const unsure = seen.target.flatMap((word, t) => (word === "<unk>" ? [t] : []));
    maps[place].draw(
      { query, key, weights: seen.maps[place][layer - 1]?.[head - 1] ?? [] },
      {
        ...{ pick: true, heads: true, row: row() },
        unknown: place === "decoder" ? unsure.map((t) => t + 1) : strange,
        unsure: place === "encoder" ? strange : unsure,
      },
    );
  }

  function row() {
    const [place] = shownOf(get, own());
    return Math.max(0, Math.min(get("row") ?? 0, axesOf(place, seen).query.length - 1));
  }

  function drawWords(place) {
    const { target } = seen;
    const changed = seen.alone ? changes(target, seen.alone) : [];
    french.draw(
      target.map((text, t) => {
        const marks = [];
        if (text === "<unk>") marks.push("unknown");
        if (changed[t]) marks.push("changed");
        if (text === END) marks.push("end");
        const said = [text === END ? tell("end") : text];
        if (changed[t]) said.push(tell("is.changed"));
        const pressed = place !== "encoder" && t === row();
        return { text, marks, pressed, said: said.join(", ") };
      }),
    );
  }

  // ------------------------------------------------------------------ the spoken line

  let timer = 0;

  function speak() {
    clearTimeout(timer);
    timer = setTimeout(() => setText(says, sentence()), THROTTLE);
  }

  function sentence() {
    const { target } = seen;
    if (!target.length) return "";
    if (!seen.alone) return tell("says.untouched");
    return [...done(), written(target, changes(target, seen.alone))].join(" ");
  }

  // What was done to the model when it gave this answer.
  function done() {
    const asked = { ...UNCHANGED, ...get("answer")?.asked };
    const { layers, heads } = own();
    const count = asked.off.filter(([place, l, n]) => l <= layers[place] && n <= heads).length;
    return [
      count === 1 && tell("done.one"),
      count > 1 && tell("done.off", { count }),
      ...SIDES.flatMap((side) => {
        const place = asked[`${side}_shift`];
        if (!asked[`${side}_places`]) return [tell(`done.places.${side}`)];
        return [place > 0 && tell(`done.shift.${side}`, { place })];
      }),
    ].filter(Boolean);
  }

  function written(target, changed) {
    const count = changed.filter(Boolean).length;
    if (count) return tell(count === 1 ? "says.one" : "says.changed", { count, all: target.length });
    return tell(same(target, seen.alone) ? "says.same" : "says.shorter");
  }

  // ------------------------------------------------------------------ life

  const watched = [...CHANGES, "text", "choice", "choices", "answer"];
  for (const name of watched) model.on(`change:${name}`, draw);
  for (const name of LOOKING) model.on(`change:${name}`, drawMaps);
  draw();
  setText(says, sentence());

  return () => {
    for (const name of watched) model.off(`change:${name}`, draw);
    for (const name of LOOKING) model.off(`change:${name}`, drawMaps);
    clearTimeout(timer);
    box.stop();
    for (const map of Object.values(maps)) map.stop();
    ask.stop();
  };
}

function read(answer) {
  const maps = Object.fromEntries(PLACES.map((place) => [place, []]));
  return { source: [], target: [], known: [], alone: null, maps, ...answer };
}
