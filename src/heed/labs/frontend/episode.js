// The episode lab: a row of drawings for each label and a query, drawn by the reader or taken from
// stored characters; what a network answers, and at which of the drawings it looks.
//
// Settings: cells, query, labels, order, seed, block. Reads besides: sizes, stored, credit, answer,
// strings, asleep.

import {answered, asker, expecting} from "./asking.js";
import {button, choice as choiceOf, group, slider} from "./controls.js";
import {h, replace, setAttribute, setProperty, setText} from "./dom.js";
import {dealt, remarks, rightRow, verdict} from "./episodes.js";
import {loudest} from "./numbers.js";
import {colour} from "./palette.js";
import {sayer, share} from "./say.js";
import {permutation} from "./steering.js";
import {same} from "./store.js";
import {SIDE, characterOf, picture, strokesOf, thinned, told} from "./strokes.js";

const SETTINGS = ["cells", "query", "labels", "order", "seed", "block"];
const ASKED = ["cells", "query", "labels", "order"];
const WATCHED = [...SETTINGS, "answer", "sizes"];
const QUERY = -1; // its row
const PAD = 224; // pixels a side
const PEN = 1.6; // as wide as the pen of training, in pixels of the sheet
const NEAR = 0.4; // pixels of the sheet; a hand that moved less has not moved
const SEEN = 0.05; // a smaller weight is not spoken of
const THROTTLE = 400;
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const PAPER = { background: "#ffffff", ink: "#000000" };

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "episode");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const get = (name) => model.get(name);
  const first = Object.fromEntries(SETTINGS.map((name) => [name, get(name)]));
  const all = () => Object.fromEntries(["cells", "query", "labels", "answer"].map((name) => [name, get(name)]));
  const ways = () => get("cells").length;
  const shots = () => get("cells")[0].length;

  let picked = [QUERY, 0]; // the cell that is drawn into
  let [past, future] = [[], []]; // of this cell
  let stroke = null; // under the pen
  let seen = null; // the look on screen: of each cell, by its place, a weight for each block
  let timer = 0;
  let listed = null;
  let made = ""; // the size of the grid on screen

  function change(settings) {
    ask(settings);
    draw();
  }

  const textOf = ([i, j]) => (i === QUERY ? get("query") : get("cells")[i]?.[j] ?? "");

  function put([i, j], text) {
    if (asleep) return;
    if (i === QUERY) change({ query: text });
    else change({ cells: get("cells").map((row, k) => (k === i ? row.map((each, l) => (l === j ? text : each)) : row)) });
  }

  // ------------------------------------------------------------------ the cells

  const grid = h("div", {
    class: "heed-episode-grid",
    role: "grid",
    "aria-label": tell("grid"),
    on: { keydown: gridKey, click: gridClick },
  });
  let cells = new Map(); // by "row.column"
  let rows = [];
  const at = ([i, j]) => cells.get(`${i}.${j}`);

  function cellOf(i, j) {
    const canvas = h("canvas", { width: SIDE, height: SIDE, "aria-hidden": "true" });
    const bars = h("span", { class: "heed-episode-looks", "aria-hidden": "true" });
    const weight = h("span", { class: "heed-episode-weight", "aria-hidden": "true" });
    const element = h(
      "div",
      { class: "heed-episode-cell", role: "gridcell", tabindex: -1, "data-row": i, "data-column": j },
      ...[canvas, bars, weight],
    );
    cells.set(`${i}.${j}`, { element, canvas, bars, weight, painted: "" });
    return element;
  }

  function build() {
    const size = `${ways()} ${shots()}`;
    if (made === size) return;
    made = size;
    cells = new Map();
    const line = (name, ...content) => {
      const head = h("span", { class: "heed-episode-label", role: "rowheader" }, name);
      return { head, row: h("div", { class: "heed-episode-row", role: "row" }, head, ...content) };
    };
    const asked = line(tell("query"), h("span", { class: "heed-episode-cells" }, cellOf(QUERY, 0)));
    rows = get("cells").map((row, i) => {
      const part = h("i", { "aria-hidden": "true" });
      const number = h("span", null);
      const score = h("span", { class: "heed-episode-score", role: "gridcell" }, part, number);
      const drawn = h("span", { class: "heed-episode-cells" }, row.map((_, j) => cellOf(i, j)));
      return { ...line("", drawn, score), score, number };
    });
    replace(grid, asked.row, rows.map(({ row }) => row));
    if (!at(picked)) picked = [picked[0], shots() - 1];
    if (!at(picked)) picked = [QUERY, 0];
  }

  const placeOf = (event) => {
    const cell = event.target.closest?.("[data-row]");
    return cell && [Number(cell.dataset.row), Number(cell.dataset.column)];
  };

  function pick(place, focus = true) {
    if (!same(place, picked)) [past, future] = [[], []];
    picked = place;
    draw();
    if (focus) at(place).element.focus({ preventScroll: true });
  }

  function gridClick(event) {
    const place = placeOf(event);
    if (place && !asleep) pick(place);
  }

  function gridKey(event) {
    const place = placeOf(event);
    if (!place || asleep || event.altKey || event.ctrlKey || event.metaKey) return;
    const within = (value, least, most) => Math.max(least, Math.min(most, value));
    const move = MOVES[event.key];
    if (move) {
      const i = within(place[0] + move[0], QUERY, ways() - 1);
      pick([i, i === QUERY ? 0 : within(place[1] + move[1], 0, shots() - 1)]);
    } else if (event.key === "Home") pick([place[0], 0]);
    else if (event.key === "End") pick([place[0], place[0] === QUERY ? 0 : shots() - 1]);
    else if (event.key === "Delete" || event.key === "Backspace") edit("");
    else if (event.key === "Enter" || event.key === " ") tray.children[offered].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ------------------------------------------------------------------ the sheet to draw on

  const pad = h("canvas", {
    class: "heed-episode-pad",
    role: "img",
    on: { pointerdown: penDown, pointermove: penMove, pointerup: penUp, pointercancel: penUp },
  });
  const undo = button({ label: tell("undo"), onPress: () => travel(past, future) });
  const redo = button({ label: tell("redo"), onPress: () => travel(future, past) });
  const clear = button({ label: tell("clear"), onPress: () => edit("") });
  const where = h("p", { class: "heed-episode-where" });

  function edit(text) {
    if (text === textOf(picked)) return;
    past.push(textOf(picked));
    future = [];
    put(picked, text);
  }

  function travel(from, to) {
    if (!from.length) return;
    to.push(textOf(picked));
    put(picked, from.pop());
  }

  function spot({ clientX, clientY }) {
    const { left, top, width, height } = pad.getBoundingClientRect();
    const within = (x) => Math.max(0, Math.min(SIDE, x));
    return [within(((clientX - left) / width) * SIDE), within(((clientY - top) / height) * SIDE)];
  }

  function penDown(event) {
    if (event.button || asleep) return;
    pad.setPointerCapture(event.pointerId);
    stroke = [spot(event)];
    drawPad();
    event.preventDefault(); // no text is selected
  }

  function penMove(event) {
    if (!stroke) return;
    for (const each of event.getCoalescedEvents?.() ?? [event]) {
      const next = spot(each);
      const [x, y] = stroke.at(-1);
      if (Math.hypot(next[0] - x, next[1] - y) >= NEAR) stroke.push(next);
    }
    drawPad();
  }

  function penUp() {
    if (!stroke) return;
    const own = [...strokesOf(textOf(picked), get("stored")), thinned(stroke)];
    stroke = null;
    const text = told(own);
    if (text.length <= 4000) edit(text);
    drawPad();
  }

  // Or the page scrolls under the finger in browsers that do not know touch-action.
  pad.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });

  function drawPad() {
    const sharp = Math.max(1, globalThis.devicePixelRatio || 1);
    if (pad.width !== PAD * sharp) pad.width = pad.height = PAD * sharp;
    const context = pad.getContext("2d");
    const scale = (PAD * sharp) / SIDE;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = "#ffffff";
    context.fillRect(0, 0, SIDE, SIDE);
    context.lineCap = context.lineJoin = "round";
    context.lineWidth = PEN + 0.5;
    context.strokeStyle = "#111111";
    for (const line of [...strokesOf(textOf(picked), get("stored")), ...(stroke ? [stroke] : [])]) {
      context.beginPath();
      context.moveTo(...line[0]);
      for (const point of line) context.lineTo(...point);
      context.stroke();
    }
  }

  // ------------------------------------------------------------------ stored characters

  let offered = 0; // the one that Tab comes to
  const tray = h(
    "div",
    { class: "heed-episode-tray", role: "toolbar", "aria-label": tell("tray"), on: { keydown: trayKey } },
    (get("stored") ?? []).map(({ name }, character) => {
      const canvas = h("canvas", { width: SIDE, height: SIDE, "aria-hidden": "true" });
      paint(canvas, `@${character}.0`, PAPER);
      return h(
        "button",
        {
          ...{ type: "button", class: "heed-episode-stored", tabindex: character ? -1 : 0 },
          ...{ "aria-label": name, title: name, on: { click: () => take(character) } },
        },
        canvas,
      );
    }),
  );

  // Another drawing of it, as long as there are others.
  function take(character) {
    const used = new Set([get("query"), ...get("cells").flat()]);
    const names = get("stored")[character].drawings.map((_, k) => `@${character}.${k}`);
    offer(character);
    edit(names.find((name) => !used.has(name)) ?? names[0]);
  }

  function offer(character, focus = false) {
    tray.children[offered].tabIndex = -1;
    offered = character;
    tray.children[character].tabIndex = 0;
    if (focus) tray.children[character].focus();
  }

  function trayKey(event) {
    const last = tray.children.length - 1;
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (step) offer((offered + step + last + 1) % (last + 1), true);
    else if (event.key === "Home") offer(0, true);
    else if (event.key === "End") offer(last, true);
    else if (event.key === "Escape") at(picked).element.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ------------------------------------------------------------------ what is set

  const others = button({
    label: tell("others"),
    onPress() {
      const seed = (get("seed") + 1) % 2 ** 32;
      [past, future] = [[], []];
      change({ seed, ...dealt(seed, ways(), shots(), get("stored")) });
    },
  });
  const anew = button({
    label: tell("anew"),
    onPress() {
      let labels = get("labels");
      while (same(labels, get("labels"))) labels = permutation(ways(), Math.floor(Math.random() * 2 ** 32));
      change({ labels });
    },
  });
  const shuffle = button({
    label: tell("shuffle"),
    onPress: () => change({ order: (get("order") + 1) % 2 ** 32 }),
  });
  const many = slider({
    label: tell("shots"),
    ...{ min: 1, max: get("sizes").most, step: 1, value: shots() },
    onInput: resize,
  });
  const reset = button({
    label: tell("reset"),
    quiet: true,
    onPress() {
      [past, future] = [[], []];
      const { block, ...others } = first;
      look({ block });
      change(others);
    },
  });

  // A row of a stored character gets more drawings of it; what a reader drew gets empty sheets.
  function resize(count) {
    const used = new Set([get("query"), ...get("cells").flat()]);
    const grown = get("cells").map((row) => {
      const own = characterOf(row[0]);
      const rest = own === null ? [] : get("stored")[own].drawings.map((_, k) => `@${own}.${k}`);
      const more = rest.filter((name) => !used.has(name));
      return Array.from({ length: count }, (_, j) => row[j] ?? more.shift() ?? "");
    });
    change({ cells: grown });
  }

  const which = h("div", { class: "heed-episode-which" });
  let blocks = null; // the control for what is in `which`

  function drawBlocks() {
    const names = get("answer")?.blocks ?? [];
    which.hidden = names.length < 2;
    if (!which.hidden && blocks?.names !== names.join()) {
      const options = names.map((label, value) => ({ label, value }));
      blocks = {
        names: names.join(),
        control: choiceOf({ label: tell("block"), options, value: blockNow(), onInput: (block) => look({ block }) }),
      };
      replace(which, blocks.control.element);
    }
    if (!which.hidden) blocks.control.value = blockNow();
  }

  // Nobody answers to this.
  function look(settings) {
    model.set(settings);
    model.save_changes();
    draw();
  }

  function blockNow() {
    const last = (get("answer")?.blocks?.length ?? 0) - 1;
    const block = get("block");
    return block < 0 ? last : Math.min(block, last);
  }

  // ------------------------------------------------------------------ what it says

  const result = h("p", { class: "heed-verdict" });
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const notes = h("ul", { class: "heed-episode-remarks" });
  const status = h("p", { class: "heed-status", role: "status" });
  const body = h("tbody", null);
  const heads = h("tr", null);
  const numbers = h(
    "details",
    { class: "heed-numbers" },
    h("summary", null, tell("numbers.open")),
    h(
      "div",
      { class: "heed-scroll", tabindex: 0 },
      h("table", null, h("caption", null, tell("numbers")), h("thead", null, heads), body),
    ),
  );
  numbers.addEventListener("toggle", () => draw());
  const hint = h("p", { class: "heed-note" }, tell("hint"));
  const desk = h(
    "div",
    { class: "heed-episode-desk" },
    where,
    pad,
    h("div", { class: "heed-episode-buttons" }, undo.element, redo.element, clear.element),
    h("p", { class: "heed-episode-where" }, tell("tray")),
    tray,
  );
  const tools = group(tell("tools"), others.element, anew.element, shuffle.element, many.element, reset.element);
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-episode" },
      tools,
      h(
        "div",
        { class: "heed-episode-two" },
        h("div", { class: "heed-episode-left" }, grid, which, result, says, notes),
        desk,
      ),
      hint,
      h("p", { class: "heed-note" }, get("credit")),
      status,
      numbers,
    ),
  );
  for (const each of [tools, desk, hint]) each.hidden = asleep;

  // ------------------------------------------------------------------ drawing

  function draw() {
    el.firstChild.setAttribute("aria-busy", String(expecting(model, ASKED)));
    const failed = get("answer")?.message === "failed";
    setText(status, failed ? tell("failed") : "");
    status.hidden = !failed;
    build();
    if (get("answer")?.shown && (answered(model, ASKED) || !seen)) see(get("answer"));
    drawCells();
    drawBlocks();
    drawWords();
    drawPad();
    drawControls();
    if (numbers.open) list();
  }

  function see({ shown, weights, probabilities, label }) {
    const looks = new Map(shown.map(([i, j], k) => [`${i}.${j}`, weights.map((row) => row[k])]));
    if (weights.length) looks.set(`${QUERY}.0`, weights.map((row) => row.at(-1)));
    seen = { looks, probabilities, label };
  }

  function drawCells() {
    const block = blockNow();
    const labels = get("labels");
    for (const [key, cell] of cells) {
      const place = key.split(".").map(Number);
      const text = textOf(place);
      const looks = seen.looks.get(key) ?? [];
      const weight = looks[block];
      const query = place[0] === QUERY;
      cell.element.classList.toggle("heed-episode-empty", !text);
      cell.element.classList.toggle("heed-episode-picked", same(place, picked) && !asleep);
      setAttribute(cell.element, "tabindex", !asleep && same(place, picked) ? 0 : -1);
      const shade = query || weight === undefined || !text ? PAPER : colour(weight ?? 0);
      const key2 = `${text} ${shade.background}`;
      if (cell.painted !== key2) paint(cell.canvas, text, shade);
      cell.painted = key2;
      const shown = text || query ? looks : [];
      while (cell.bars.children.length > shown.length) cell.bars.lastChild.remove();
      while (cell.bars.children.length < shown.length) cell.bars.append(h("i", null));
      shown.forEach((each, k) => {
        setProperty(cell.bars.children[k], "--part", (each ?? 0).toFixed(3));
        cell.bars.children[k].classList.toggle("heed-on", k === block);
      });
      setText(cell.weight, shown.length ? share(weight) : "");
      const what = text ? nameOf(text) : tell("cell.empty");
      const where = query ? tell("query") : tell("cell", { label: labels[place[0]] + 1, drawing: place[1] + 1 });
      const told = shown.length ? tell("cell.look", { weight: share(weight), block: get("answer").blocks[block] }) : "";
      setAttribute(cell.element, "aria-label", `${where}: ${what}. ${told}`.trim());
    }
    const right = rightRow(all());
    rows.forEach(({ head, row, score, number }, i) => {
      const label = labels[i];
      const p = seen.probabilities[label];
      setText(head, tell("label", { label: label + 1 }));
      setText(number, p === undefined ? "" : share(p));
      setProperty(score, "--part", (p ?? 0).toFixed(3));
      row.classList.toggle("heed-episode-said", label === seen.label);
      row.classList.toggle("heed-episode-right", i === right);
    });
  }

  function nameOf(text) {
    const character = characterOf(text);
    return character === null ? tell("cell.own") : get("stored")[character].name;
  }

  function drawWords() {
    if (!answered(model, ASKED)) return;
    const now = all();
    setText(result, verdict(tell, now));
    const row = rightRow(now);
    const known = row !== null && now.answer.label >= 0;
    result.classList.toggle("heed-right", known && now.labels[row] === now.answer.label);
    result.classList.toggle("heed-wrong", known && now.labels[row] !== now.answer.label);
    const lines = remarks(tell, now);
    if (!same([...notes.children].map((li) => li.textContent), lines)) replace(notes, lines.map((line) => h("li", null, line)));
    notes.hidden = !lines.length;
    clearTimeout(timer);
    timer = setTimeout(() => setText(says, spoken()), says.textContent ? THROTTLE : 0);
  }

  function spoken() {
    const { shown, weights, blocks: names } = get("answer");
    const row = weights[blockNow()];
    if (!row) return "";
    const place = (k) => {
      if (k === shown.length) return tell("itself");
      const [i, j] = shown[k];
      return shots() > 1 ? tell("place", { label: get("labels")[i] + 1, drawing: j + 1 }) : tell("label", { label: get("labels")[i] + 1 });
    };
    const looks = loudest(row, { least: SEEN, most: 3 }).map(([k, weight]) => tell("look", { place: place(k), weight: share(weight) }));
    const sums = new Map();
    shown.forEach(([i], k) => sums.set(i, (sums.get(i) ?? 0) + (row[k] ?? 0)));
    const label = get("answer").label;
    const own = [...sums].find(([i]) => get("labels")[i] === label)?.[1] ?? 0;
    const sum = shots() > 1 ? tell("says.sum", { label: label + 1, share: share(own) }) : "";
    const told = tell(looks.length ? "says" : "says.none", { block: names[blockNow()], looks: looks.join(", ") });
    return `${told} ${sum}`.trim();
  }

  function drawControls() {
    many.value = shots();
    many.max = get("sizes").most;
    undo.disabled = !past.length;
    redo.disabled = !future.length;
    clear.disabled = !textOf(picked);
    reset.disabled = SETTINGS.every((name) => same(get(name), first[name]));
    const [i, j] = picked;
    const place = i === QUERY ? tell("query") : tell("cell", { label: get("labels")[i] + 1, drawing: j + 1 });
    setText(where, tell("where", { place }));
    setAttribute(pad, "aria-label", tell("pad", { place }));
  }

  function list() {
    const { shown, weights, blocks: names } = get("answer");
    const labels = get("labels");
    const lines = [
      ...shown.map(([i, j], k) => [k + 1, labels[i] + 1, nameOf(textOf([i, j])), ...weights.map((row) => number(row[k]))]),
      ...(shown.length ? [[shown.length + 1, "?", tell("query"), ...weights.map((row) => number(row.at(-1)))]] : []),
    ];
    if (same([names, lines], listed)) return;
    listed = [names, lines];
    replace(heads, ["number.place", "number.label", "number.what"].map((key) => h("th", { scope: "col" }, tell(key))), names.map((name) => h("th", { scope: "col" }, name)));
    replace(body, lines.map(([name, ...cells]) => h("tr", null, h("th", { scope: "row" }, name), cells.map((cell) => h("td", null, cell)))));
  }

  function paint(canvas, text, { background, ink }) {
    const context = canvas.getContext("2d");
    const image = context.createImageData(SIDE, SIDE);
    const [from, to] = [background, ink].map(channels);
    picture(text, get("stored")).forEach((share, i) => {
      for (let c = 0; c < 3; c += 1) image.data[4 * i + c] = Math.round(from[c] + (to[c] - from[c]) * share);
      image.data[4 * i + 3] = 255;
    });
    context.putImageData(image, 0, 0);
  }

  // ------------------------------------------------------------------ life

  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    clearTimeout(timer);
    ask.stop();
  };
}

function number(value) {
  return Number.isFinite(value) ? value.toFixed(3) : "–";
}

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}
