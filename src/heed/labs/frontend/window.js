// The window lab: a sentence, its translation by a Luong, and how the look of one word is made. The
// softmax inside the window, the Gaussian, and their product stand as three strips over the English
// words. The window can be dragged, made wider, and left to the network.
//
// Settings: text, choice, where, places, still, radius, sigma, linked, hill, everything, row. Reads
// besides: choices, examples, answer, strings, asleep.

import {answered, asker, expecting} from "./asking.js";
import {button, choice as choiceOf, group, slider, textBox, toggle} from "./controls.js";
import {h, replace, setText, unique} from "./dom.js";
import {changes} from "./lcs.js";
import {wordLine} from "./lines.js";
import {attentionMap} from "./map.js";
import {largest, loudest} from "./numbers.js";
import {END, remarks} from "./remarks.js";
import {sayer, share} from "./say.js";
import {same} from "./store.js";
import {fitted, svg, through} from "./svg.js";
import {detokenize} from "./text.js";
import {moved, placeAt, windowOf} from "./windowed.js";

const SETTINGS = [
  ...["text", "choice", "where", "places", "still", "radius", "sigma", "linked", "hill"],
  ...["everything", "row"],
];
const STAGES = ["align", "hill", "weights"];
const OWN = { where: "model", places: {}, still: -1, everything: false };
const TOP = 24; // of the first strip, in pixels; above it the handle
const NAME = 18; // for a strip's name
const BAR = 54; // the height of a weight of 1
const STRIP = NAME + BAR + 8;
const STRIPS = STAGES.length * STRIP - 8; // the height of all of them
const FLOOR = TOP + STRIPS; // where the words begin
const COLUMN = [26, 62]; // width of a word's column, least and most
const LETTER = 7.2; // width of a letter, roughly
const TILT = Math.PI / 4;
const STEP = 0.1;
const FURTHEST = { radius: 30, sigma: 15 };
const WRITTEN = 0.05; // smaller weights get no number
const THROTTLE = 400;

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "window");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const get = (name) => model.get(name);
  const choices = () => get("choices") ?? [];
  const own = () => choices()[get("choice")];
  const stale = () => !answered(model, ["text", "choice"]);

  let seen = read(get("answer")); // the answer
  let pane = windowOf(get);
  let row = 0; // the word whose look is shown
  let sending = false; // the settings that change now are the reader's own
  let forAll = get("still") >= 0; // a place that is given now is for every word

  // ------------------------------------------------------------------ what the reader does

  function send(settings) {
    sending = true;
    ask(settings);
    sending = false;
    draw();
  }

  function askFor(text) {
    // Places in the old sentence mean nothing in the new one.
    const where = get("where") === "hand" ? "model" : get("where");
    pick(0);
    send({ text, where, places: {}, still: -1 });
  }

  function pick(next) {
    if (next === get("row")) return;
    model.set("row", next); // nobody is asked
    model.save_changes();
  }

  const tidy = (p) => Math.round(10 * Math.max(0, Math.min(p, seen.source.length))) / 10;

  // The window of this word, or of all words, is held where the reader says.
  function hold(p) {
    if (asleep || stale() || !seen.target.length) return;
    const place = tidy(p);
    if (forAll) {
      send({ where: "hand", still: place, places: {} });
      return;
    }
    const before = { model: {}, step: { ...seen.target.map((_, t) => t) }, hand: get("places") };
    const places = { ...before[get("where")], [row]: place };
    send({ where: "hand", places, still: get("where") === "hand" ? get("still") : -1 });
  }

  const placeNow = () => placeAt(pane, own(), row, seen.places);

  function leave(where) {
    if (where !== "hand") send({ where });
    else if (Object.keys(get("places")).length || get("still") >= 0) send({ where });
    else hold(placeNow() ?? largest(seen.weights[row] ?? []));
  }

  function reachFor(value) {
    const place = placeNow();
    forAll = value === "all";
    if (place === null) send({ still: -1 });
    else if (forAll) send({ still: tidy(place), places: {} });
    else send({ still: -1, places: { ...get("places"), [row]: tidy(place) } });
  }

  const ownWidth = ({ radius, sigma, linked, hill }) => ({ radius, sigma, linked, hill });

  // ------------------------------------------------------------------ what stands there

  const which = choiceOf({
    label: tell("choice"),
    options: choices().map((each, i) => ({ value: i, label: each.label, help: each.note })),
    value: get("choice"),
    onInput: (next) => send({ ...OWN, choice: next, ...ownWidth(choices()[next]) }),
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
    onAcross: () => handle.focus(),
  });
  const alone = h("p", { class: "heed-note heed-window-alone" });

  const where = choiceOf({
    label: tell("where"),
    options: ["model", "step", "hand"].map((value) => ({ value, label: tell(`where.${value}`) })),
    value: get("where"),
    onInput: leave,
  });
  const [modelWord] = where.element.querySelectorAll("label span");
  const stepLabel = where.element.querySelectorAll("label")[1];
  const reach = choiceOf({
    label: tell("reach"),
    options: ["one", "all"].map((value) => ({ value, label: tell(`reach.${value}`) })),
    value: forAll ? "all" : "one",
    onInput: reachFor,
  });
  const [oneWord] = reach.element.querySelectorAll("label span");
  const place = slider({
    label: tell("place"),
    ...{ min: 0, max: 1, step: STEP, value: 0 },
    format: (value) => (placeNow() === null ? tell("place.none") : value.toFixed(1)),
    onInput: hold,
  });
  const radius = slider({
    label: tell("radius"),
    ...{ min: 1, max: FURTHEST.radius, step: 1, value: get("radius") },
    onInput: (value) => send({ radius: value }),
  });
  const sigma = slider({
    label: tell("sigma"),
    ...{ min: STEP, max: FURTHEST.sigma, step: STEP, value: get("sigma") },
    format: (value) => value.toFixed(1),
    onInput: (value) => send({ sigma: value, linked: false }),
  });
  const linked = toggle({
    label: tell("linked"),
    value: get("linked"),
    onInput: (on) => send(on ? { linked: true } : { linked: false, sigma: get("radius") / 2 }),
  });
  const hill = toggle({
    label: tell("hilly"),
    value: get("hill"),
    onInput: (on) => send({ hill: on }),
  });
  const everything = toggle({
    label: tell("everything"),
    value: get("everything"),
    help: tell("everything.help"),
    onInput: (on) => send({ everything: on }),
  });
  const reset = button({
    label: tell("reset"),
    onPress: () => {
      forAll = false;
      send({ ...OWN, ...ownWidth(own()) });
    },
  });
  const map = attentionMap({ strings, label: tell("map") });
  map.onPick((t) => t >= 0 && !stale() && pick(t));
  const list = h("tbody");
  const numbers = h(
    "details",
    { class: "heed-numbers" },
    h("summary", null, tell("numbers")),
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h("tr", null, ["numbers.word", ...STAGES].map((key) => h("th", { scope: "col" }, tell(key)))),
      ),
      list,
    ),
  );
  numbers.addEventListener("toggle", () => drawNumbers());

  // ------------------------------------------------------------------ the picture

  let [left, column, wide, room] = [0, COLUMN[1], 0, 0]; // in pixels; room: what is seen at once
  const inside = svg("rect", { class: "inside", y: TOP, height: STRIPS });
  const floors = svg("path", { class: "axis" });
  const ghost = svg("path", { class: "ghost" });
  const bars = svg("path", { class: "bars" });
  const curve = svg("path", { class: "curve" });
  const dots = svg("path", { class: "dots" });
  const written = svg("g", { class: "written", "aria-hidden": "true" });
  const words = svg("g", { class: "words", "aria-hidden": "true", lang: "en" });
  const names = STAGES.map((stage, k) =>
    svg("text", { class: "name", x: 4, y: TOP + k * STRIP + 12, "aria-hidden": "true" }),
  );
  const middle = svg("path", { class: "middle" });
  const grip = svg("circle", { class: "grip", r: 8, cy: 13 });
  const handle = svg(
    "g",
    {
      class: "handle",
      tabindex: 0,
      role: "slider",
      "aria-label": tell("place"),
      "data-lm-suppress-shortcuts": "true",
    },
    ...[middle, svg("circle", { class: "reach", r: 14, cy: 13 }), grip],
  );
  const picture = svg(
    "svg",
    { class: "heed-window-picture", role: "group", "aria-label": tell("picture") },
    ...[inside, floors, ghost, bars, curve, dots, written, words, ...names, handle],
  );
  const scroll = h(
    "div",
    { class: "heed-scroll", tabindex: 0, role: "region", "aria-label": tell("strips") },
    picture,
  );
  const frame = h("div", { class: "heed-window-frame" }, scroll);

  const across = (s) => left + (s + 0.5) * column;
  const floorOf = (k) => TOP + k * STRIP + NAME + BAR;
  const placeUnder = ({ clientX }) =>
    (clientX - picture.getBoundingClientRect().left - left) / column - 0.5;

  let held = null; // from the pointer to the middle
  handle.addEventListener("pointerdown", (event) => {
    if (event.button || asleep) return;
    held = (placeNow() ?? 0) - placeUnder(event);
    handle.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    event.preventDefault(); // no text is selected
  });
  // Or the page scrolls under the finger; touch-action is not obeyed inside an SVG.
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  handle.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const next = tidy(placeUnder(event) + held);
    if (next !== placeNow()) hold(next);
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    handle.addEventListener(end, () => (held = null));
  }
  handle.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const step = event.shiftKey ? 1 : STEP;
    const to = {
      ArrowLeft: (p) => p - step,
      ArrowDown: (p) => p - step,
      ArrowRight: (p) => p + step,
      ArrowUp: (p) => p + step,
      PageDown: (p) => p - 1,
      PageUp: (p) => p + 1,
      Home: () => 0,
      End: () => seen.source.length,
    }[event.key];
    if (!to) return;
    hold(to(placeNow() ?? 0));
    event.preventDefault();
    event.stopPropagation();
  });
  // A click over a word brings the window there; a finger may scroll over it.
  picture.addEventListener("click", (event) => {
    if (!handle.contains(event.target)) hold(placeUnder(event));
  });

  const root = h(
    "div",
    { class: "heed-sheet heed-window" },
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
    frame,
    says,
    h("p", { class: "heed-note", hidden: asleep }, tell("hint")),
    h(
      "div",
      { class: "heed-window-controls", hidden: asleep },
      h("div", null, where.element, reach.element, place.element),
      group(
        tell("width"),
        ...[radius.element, linked.element, sigma.element, hill.element, everything.element],
        reset.element,
      ),
    ),
    numbers,
    map.element,
  );
  which.element.hidden = choices().length < 2 || asleep;
  box.element.hidden = asleep;
  replace(el, root);

  // ------------------------------------------------------------------ drawing

  function draw() {
    if (sending) return;
    seen = read(get("answer"));
    pane = windowOf(get);
    root.setAttribute("aria-busy", String(expecting(model, ["text", "choice"])));
    setText(status, remarks(get("answer") ?? {}, strings, tell));
    box.value = get("text") ?? "";
    which.value = get("choice");
    setText(note, own()?.note ?? "");
    drawMap();
    drawRow();
  }

  // What belongs to the word that is picked.
  function drawRow() {
    if (sending) return;
    row = Math.max(0, Math.min(get("row") ?? 0, seen.target.length - 1));
    drawWords();
    drawControls();
    drawPicture();
    drawNumbers();
    map.select(row);
    speak();
  }

  function drawWords() {
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
        return { text, marks, pressed: t === row, said: said.join(", ") };
      }),
    );
    alone.hidden = !seen.alone;
    const other = (seen.alone ?? []).filter((word) => word !== END);
    replace(alone, tell("alone"), ": ", h("span", { lang: "fr" }, detokenize(other, "fr") || "–"));
  }

  function drawControls() {
    const { attention } = own();
    const [all, flat] = [get("everything"), !get("hill")];
    const none = stale() || !seen.target.length;
    setText(modelWord, tell(`where.model.${attention}`));
    stepLabel.hidden = attention === "local_m";
    where.value = get("where") === "step" && attention === "local_m" ? "model" : get("where");
    if (get("still") >= 0) forAll = true;
    reach.element.hidden = get("where") !== "hand";
    reach.value = forAll ? "all" : "one";
    setText(oneWord, tell("reach.one", { word: seen.target[row] ?? "" }));
    place.max = Math.max(1, seen.source.length);
    place.value = placeNow() ?? 0;
    place.disabled = where.disabled = reach.disabled = none;
    radius.value = get("radius");
    sigma.value = get("linked") ? get("radius") / 2 : get("sigma");
    linked.value = get("linked");
    hill.value = get("hill");
    everything.value = all;
    // Where there is no window, its width is nobody's.
    const nowhere = placeNow() === null;
    radius.disabled = hill.disabled = all || nowhere;
    sigma.disabled = linked.disabled = all || flat || nowhere;
    everything.disabled = nowhere && !all;
    reset.disabled =
      same(ownWidth(own()), ownWidth(Object.fromEntries(SETTINGS.map((n) => [n, get(n)])))) &&
      Object.entries(OWN).every(([name, value]) => same(get(name), value));
  }

  function drawPicture() {
    const { source, align, weights } = seen;
    const n = source.length;
    frame.hidden = !n || !seen.target.length;
    if (frame.hidden || !room) return;
    measure(source);
    const p = placeNow();
    const { radius: reaches, sigma: width } = pane;
    const end = left + n * column;
    const [from, to] = p === null ? [0, n] : [p - reaches, p + reaches];
    const [x, toX] = [from, to].map((s) => Math.max(left, Math.min(end, across(s))));
    inside.setAttribute("x", x);
    inside.setAttribute("width", Math.max(0, toX - x));
    floors.setAttribute("d", STAGES.map((_, k) => `M${left} ${floorOf(k)}H${end}`).join(""));
    const [before, after] = [align[row] ?? [], weights[row] ?? []];
    bars.setAttribute("d", barsOf(before, 0) + barsOf(after, 2));
    ghost.setAttribute("d", barsOf(before, 2));
    const flat = p === null || !Number.isFinite(width);
    const height = (s) => (flat ? 1 : Math.exp(-((s - p) ** 2) / (2 * width ** 2)));
    const fine = Array.from({ length: 8 * n + 1 }, (_, i) => i / 8 - 0.5);
    curve.setAttribute("d", through(fine.map((s) => [across(s), floorOf(1) - BAR * height(s)])));
    const round = (s) => `M${across(s) - 2.5} ${floorOf(1) - BAR * height(s)}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0`;
    dots.setAttribute("d", source.map((_, s) => round(s)).join(""));
    written.replaceChildren(...numbersOver(before, 0), ...numbersOver(after, 2));
    setText(names[0], `${tell("align")} · ${tell("sum", { sum: share(total(before)) })}`);
    setText(names[1], flat ? tell("flat") : tell("hill"));
    setText(names[2], `${tell("weights")} · ${tell("sum", { sum: share(total(after)) })}`);
    drawHandle(p, n);
  }

  let brought = ""; // the look that was brought before the eyes last, where not all of it fits

  function drawHandle(p, n) {
    handle.style.display = p === null ? "none" : "";
    if (p === null) return;
    const x = across(Math.min(p, n - 0.5));
    handle.setAttribute("transform", `translate(${x.toFixed(1)} 0)`);
    const look = `${measured} ${row}`;
    if (look !== brought && wide > room) scroll.scrollLeft = x - room / 2;
    brought = look;
    middle.setAttribute("d", `M0 13V${FLOOR}`);
    const word = seen.source[Math.max(0, Math.min(Math.round(p), n - 1))];
    handle.setAttribute("aria-valuemin", "0");
    handle.setAttribute("aria-valuemax", String(n));
    handle.setAttribute("aria-valuenow", p.toFixed(1));
    handle.setAttribute("aria-valuetext", tell("place.said", { place: p.toFixed(1), word }));
    handle.setAttribute("aria-disabled", String(asleep));
  }

  const barsOf = (shares, k) =>
    shares
      .map((weight, s) => [across(s) - 0.31 * column, BAR * (weight ?? 0)])
      .filter(([, high]) => high > 0.2)
      .map(([x, high]) => {
        const [y, broad] = [floorOf(k) - high, 0.62 * column];
        return `M${x.toFixed(1)} ${y.toFixed(1)}h${broad.toFixed(1)}v${high.toFixed(1)}h-${broad.toFixed(1)}z`;
      })
      .join("");

  const numbersOver = (shares, k) =>
    shares.flatMap((weight, s) => {
      if (!(weight >= WRITTEN)) return [];
      const y = Math.max(floorOf(k) - BAR * weight - 3, floorOf(k) - BAR + 9);
      const text = weight < 0.995 ? share(weight).slice(1) : "1";
      return [svg("text", { x: across(s), y }, text)];
    });

  // The words lie aslant under their columns, and the first one needs room to its left.
  let measured = null;

  function measure(source) {
    const now = JSON.stringify([source, seen.known, room]);
    if (now === measured) return;
    measured = now;
    const slant = (word, i) => LETTER * Math.min(word.length, 14) * Math.cos(TILT) - i * COLUMN[0];
    left = Math.max(8, ...source.map(slant)) - COLUMN[0] / 3;
    left = Math.max(6, left);
    column = Math.max(COLUMN[0], Math.min(COLUMN[1], (room - left - 8) / source.length));
    const longest = Math.max(...source.map((word) => Math.min(word.length, 14)));
    const high = FLOOR + 14 + LETTER * longest * Math.sin(TILT);
    wide = Math.max(left + source.length * column + 8, Math.min(room, 300));
    picture.setAttribute("width", wide.toFixed(0));
    picture.setAttribute("height", high.toFixed(0));
    words.replaceChildren(
      ...source.map((word, s) => {
        const cut = word.length > 14 ? `${word.slice(0, 13)}…` : word;
        const [x, y] = [across(s) + 3, FLOOR + 12];
        const at = { x, y, transform: `rotate(-45 ${x} ${y})` };
        return svg("text", { ...at, class: seen.known[s] === false ? "unknown" : null }, cut);
      }),
    );
  }

  function drawNumbers() {
    numbers.hidden = !seen.target.length;
    if (!numbers.open || numbers.hidden) return;
    const [p, { sigma: width }] = [placeNow(), pane];
    const flat = p === null || !Number.isFinite(width);
    const cells = (s) => [
      seen.align[row]?.[s] ?? 0,
      flat ? 1 : Math.exp(-((s - p) ** 2) / (2 * width ** 2)),
      seen.weights[row]?.[s] ?? 0,
    ];
    replace(
      list,
      seen.source.map((word, s) =>
        h(
          "tr",
          null,
          h("th", { scope: "row", lang: "en" }, word),
          cells(s).map((number) => h("td", null, number.toFixed(4))),
        ),
      ),
    );
  }

  function drawMap() {
    const { source, target, weights, known } = seen;
    const at = target.map((_, t) => placeAt(pane, own(), t, seen.places));
    const rings = at.flatMap((p, t) => {
      const s = p === null ? -1 : Math.round(p);
      return s >= 0 && s < source.length ? [[t, s, "mine"]] : [];
    });
    map.element.hidden = !target.length;
    map.draw(
      { query: target, key: source, weights },
      {
        ...{ rings, pick: true, heads: true },
        unknown: source.flatMap((_, s) => (known[s] === false ? [s] : [])),
        unsure: target.flatMap((word, t) => (word === "<unk>" ? [t] : [])),
      },
    );
  }

  // ------------------------------------------------------------------ the spoken line

  let timer = 0;

  function speak() {
    clearTimeout(timer);
    timer = setTimeout(() => setText(says, sentence()), THROTTLE);
  }

  function sentence() {
    const word = seen.target[row];
    if (word === undefined) return "";
    const p = placeNow();
    const [before, after] = [seen.align[row] ?? [], seen.weights[row] ?? []];
    const looks = loudest(after)
      .map(([s, weight]) => tell("look", { key: seen.source[s], weight: share(weight) }))
      .join(", ");
    const told = looks ? [tell("looks", { word, looks })] : [];
    if (p === null) return [tell("nowhere", { word }), ...told].join(" ");
    const values = { word, given: share(total(before)), left: share(total(after)) };
    if (!total(before)) return tell("empty", { word });
    if (!Number.isFinite(pane.radius)) return [tell("says.everything", values), ...told].join(" ");
    const [low, high] = [p - pane.radius, p + pane.radius].map(signed);
    return [tell("says", { ...values, low, high }), ...told].join(" ");
  }

  // ------------------------------------------------------------------ life

  const stopFitting = fitted(frame, (width) => {
    room = width;
    drawPicture();
  });
  const watched = [...SETTINGS, "choices", "answer"];
  const redraw = (name) => (name === "row" ? drawRow : draw);
  for (const name of watched) model.on(`change:${name}`, redraw(name));
  draw();
  setText(says, sentence());

  return () => {
    for (const name of watched) model.off(`change:${name}`, redraw(name));
    stopFitting();
    clearTimeout(timer);
    box.stop();
    map.stop();
    ask.stop();
  };
}

function read(answer) {
  const empty = { source: [], target: [], weights: [], align: [], places: [], known: [], alone: null };
  return { ...empty, ...answer };
}

const total = (row) => row.reduce((sum, weight) => sum + (weight ?? 0), 0);

const signed = (number) => number.toFixed(1).replace("-", "−");
