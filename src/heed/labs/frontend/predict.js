// Predict, then reveal: the reader says for each French word which English word the model will look
// at first; then the map comes, with the reader's marks, the gold links, and a score.

import {answered, asker} from "./asking.js";
import {button, textBox} from "./controls.js";
import {h, replace, setText} from "./dom.js";
import {attentionMap} from "./map.js";
import {largest} from "./numbers.js";
import {END, remarks} from "./remarks.js";
import {sayer, share} from "./say.js";

const TALLY = "heed-predict-tally";
const WATCHED = ["example", "examples", "text", "marks", "shown", "answer"];

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "predict");
  const ask = asker(model);
  const examples = () => model.get("examples") ?? [];

  let seen = playable({});
  let byKey = false; // the last thing that the reader used
  let setting = false; // the settings that change now are the reader's own

  // ------------------------------------------------------------------ what stands there

  const map = attentionMap({ strings, label: tell("map") });
  map.onPick(mark);
  map.element.addEventListener("keydown", () => (byKey = true), true);
  map.element.addEventListener("pointerdown", () => (byKey = false), true);

  const place = h("span", { class: "heed-place" });
  const task = h("p", { class: "heed-task" });
  const box = textBox({
    label: tell("text"),
    value: model.get("text") ?? "",
    placeholder: tell("placeholder"),
    onInput: (text) => begin({ example: -1, text }),
  });
  const status = h("p", { class: "heed-status", role: "status" });
  const left = h("p", { class: "heed-left", "aria-live": "polite" });
  const reveal = button({ label: tell("reveal"), onPress: show });
  const again = button({ label: tell("again"), quiet: true, onPress: () => begin({}) });
  const next = button({ label: tell("next"), onPress: () => begin({ example: following() }) });
  const toOwn = button({ label: tell("own"), quiet: true, onPress: turnToOwn });
  const forget = button({ label: tell("forget"), quiet: true, onPress: startOver });
  const verdict = h("div", { class: "heed-verdict", tabindex: "-1" });
  const tally = h("span", { class: "heed-tally" });
  const legend = h("p", { class: "heed-rings" });
  const root = h(
    "div",
    { class: "heed-sheet heed-predict" },
    h("p", { class: "heed-question" }, tell("question"), " ", place),
    box.element,
    status,
    task,
    map.element,
    legend,
    h("div", { class: "heed-actions" }, reveal.element, next.element, again.element, left),
    verdict,
    h("div", { class: "heed-actions heed-more" }, toOwn.element, tally, forget.element),
  );
  replace(el, root);

  // ------------------------------------------------------------------ what the reader does

  const number = () => model.get("example") ?? 0;
  const marks = () => model.get("marks") ?? {};
  const revealed = () => Boolean(model.get("shown"));
  const following = () => (examples().length ? (number() + 1) % examples().length : -1);
  const own = () => number() < 0 || !examples().length;

  // A sentence of the reader's own is not there before it is answered: nothing can be marked in it.
  const waiting = () => own() && !answered(model, ["example", "text"]);

  // Who answers is asked only for a sentence of the reader's own.
  function set(settings, send = keep) {
    setting = true;
    send(settings);
    setting = false;
    draw();
  }

  function keep(settings) {
    model.set(settings);
    model.save_changes();
  }

  function begin(settings) {
    const fresh = { marks: {}, shown: false, ...settings };
    set(fresh, fresh.example === -1 ? ask : keep);
    if (document.activeElement !== boxInput()) map.focus(0, 0);
  }

  const boxInput = () => box.element.querySelector("textarea");

  function turnToOwn() {
    set({ example: -1, marks: {}, shown: false }, ask);
    boxInput().focus();
  }

  function mark(row, column) {
    if (revealed() || waiting() || row < 0 || column < 0) return;
    const given = { ...marks() };
    const taken = given[row] === column;
    if (taken) delete given[row];
    else given[row] = column;
    set({ marks: given });
    // Whoever uses the keyboard goes on to the next row that is still empty.
    if (!byKey || taken) return;
    const open = seen.query.findIndex((_, i) => i > row && !(i in given));
    if (open >= 0) map.focus(open, Math.min(column + 1, seen.key.length - 1));
    else reveal.element.focus();
  }

  function show() {
    if (waiting()) return;
    const found = score(seen, marks());
    if (found.marked) remember(seen, found);
    set({ shown: true });
    verdict.focus({ preventScroll: true });
  }

  function startOver() {
    write({});
    draw();
  }

  // ------------------------------------------------------------------ drawing

  function sentence() {
    return playable(examples()[number()] ?? model.get("answer") ?? {});
  }

  function draw() {
    const hold = waiting();
    if (!hold) seen = sentence();
    root.classList.toggle("heed-waiting", hold); // what stood there keeps its room, unseen
    const mine = own();
    const given = marks();
    const open = revealed();
    const rings = [];
    if (open) {
      for (const [i, j] of seen.possible) rings.push([j, i, "possible"]);
      for (const [i, j] of seen.sure) rings.push([j, i, "sure"]);
    }
    for (const [row, column] of Object.entries(given)) {
      if (row < seen.query.length) rings.push([Number(row), column, "mine"]);
    }
    map.draw(
      { query: seen.query, key: seen.key, weights: seen.weights },
      {
        rings: joined(rings),
        row: -1,
        blank: !open,
        pick: !open && !hold,
        unknown: seen.key.flatMap((_, j) => (seen.known[j] === false ? [j] : [])),
      },
    );
    const rows = seen.query.length;
    map.element.hidden = !rows;
    setText(place, mine ? "" : tell("place", { number: number() + 1, of: examples().length }));
    box.element.hidden = !mine;
    if (box.value !== (model.get("text") ?? "")) box.value = model.get("text") ?? "";
    toOwn.element.hidden = mine || Boolean(model.get("asleep"));
    setText(task, rows && !open ? tell("task") : "");
    task.hidden = !rows || open;
    const done = Object.keys(given).length;
    setText(left, open || !rows ? "" : tell("left", { done, rows }));
    reveal.element.hidden = open || !rows || hold;
    reveal.label = tell(done ? "reveal" : "reveal.unmarked");
    again.element.hidden = !open;
    next.element.hidden = !examples().length || (!open && !mine);
    const read = model.get("answer") ?? {};
    const told = mine && (!hold || read.message === "failed"); // then no other answer will come
    setText(status, told ? remarks(read, strings, tell) : "");
    status.hidden = !mine;
    drawLegend(open);
    drawVerdict(open);
    drawTally();
  }

  function drawLegend(open) {
    const entry = (kind) =>
      h("span", { class: "heed-ring-entry" }, h("i", { class: `heed-key-${kind}` }), tell(kind));
    const gold = open && seen.sure.length + seen.possible.length > 0;
    legend.hidden = !open;
    replace(legend, entry("mine"), gold ? [entry("sure"), entry("possible")] : null);
  }

  function drawVerdict(open) {
    verdict.hidden = !open;
    if (!open) return;
    const found = score(seen, marks());
    const lines = [];
    if (found.marked) {
      lines.push(
        h("p", { class: "heed-result" }, tell("score", { hits: found.hits, of: found.marked })),
        h("p", null, tell("mean", { mean: share(found.mean) })),
      );
      lines.push(h("p", null, surprise(found)));
    } else {
      lines.push(h("p", null, tell("unmarked")));
    }
    if (found.gold) lines.push(h("p", null, tell("gold", found.gold)));
    replace(verdict, lines);
  }

  function surprise({ most }) {
    if (!most) return tell("surprise.none");
    return tell("surprise", {
      query: seen.query[most.row],
      mine: seen.key[most.mine],
      mineWeight: share(seen.weights[most.row][most.mine]),
      first: seen.key[most.first],
      firstWeight: share(seen.weights[most.row][most.first]),
    });
  }

  function drawTally() {
    const all = Object.values(recall());
    const sum = (at) => all.reduce((total, each) => total + each[at], 0);
    tally.hidden = forget.element.hidden = !all.length;
    const key = all.length === 1 ? "tally.one" : "tally";
    setText(tally, tell(key, { hits: sum(0), of: sum(1), sentences: all.length }));
  }

  const changed = () => setting || draw();

  for (const name of WATCHED) model.on(`change:${name}`, changed);
  draw();

  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, changed);
    box.stop();
    map.stop();
    ask.stop();
  };
}

// ---------------------------------------------------------------------- helpers

/** What is asked about: the words, not the end of the sentence that may follow them. */
function playable({ source = [], target = [], weights = [], known = [], sure = [], possible = [] }) {
  const rows = target.at(-1) === END ? target.length - 1 : target.length;
  const columns = weights[0]?.length ?? source.length;
  const key = source.length < columns ? [...source, END] : source;
  return {
    key,
    query: target.slice(0, rows),
    weights: weights.slice(0, rows),
    known,
    sure,
    possible: possible.filter(([i, j]) => !has(sure, i, j)),
  };
}

function has(links, source, target) {
  return links.some(([i, j]) => i === source && j === target);
}

/** Several rings in one cell are one ring with several kinds. */
function joined(rings) {
  const cells = new Map();
  for (const [row, column, kind] of rings) {
    const key = `${row},${column}`;
    const before = cells.get(key);
    cells.set(key, [row, column, before ? `${before[2]} heed-${kind}` : kind]);
  }
  return [...cells.values()];
}

/**
 * marked, hits: rows with a mark, and how many of them are on the model's first look.
 * mean: the mean weight on the marked cells. most: the row where a better cell had most to gain.
 * gold: of the marked rows that have a gold link, how many of the reader's marks are on one, and how
 * many of the model's first looks; null where there are none.
 */
function score({ query, weights, sure, possible }, marks) {
  const rows = Object.keys(marks).map(Number).filter((row) => row < query.length);
  const linked = [...sure, ...possible];
  let [hits, total, widest, most] = [0, 0, 0, null];
  const gold = { you: 0, model: 0, of: 0 };
  for (const row of rows) {
    const mine = marks[row];
    const first = largest(weights[row]);
    const weight = weights[row][mine] ?? 0;
    const gap = weights[row][first] - weight;
    hits += Number(mine === first);
    total += weight;
    if (gap > widest) [widest, most] = [gap, { row, mine, first }];
    if (!linked.some(([, j]) => j === row)) continue;
    gold.of += 1;
    gold.you += Number(has(linked, mine, row));
    gold.model += Number(has(linked, first, row));
  }
  return {
    marked: rows.length,
    hits,
    mean: rows.length ? total / rows.length : 0,
    most,
    gold: gold.of ? gold : null,
  };
}

// The tally: {sentence: [first looks guessed, marked]} in this browser. Only the first try counts.

function recall() {
  let stored;
  try {
    stored = localStorage.getItem(TALLY);
  } catch {
    return kept;
  }
  try {
    const counted = Object.entries(JSON.parse(stored) ?? {}).filter(
      ([, pair]) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isFinite),
    );
    return Object.fromEntries(counted);
  } catch {
    return {}; // whatever that was, it was no tally
  }
}

let kept = {}; // where the browser keeps nothing

function write(all) {
  kept = all;
  try {
    localStorage.setItem(TALLY, JSON.stringify(all));
  } catch {
    // The tally then lasts as long as the page.
  }
}

function remember({ key, query }, { hits, marked }) {
  const all = recall();
  const name = `${key.join(" ")} → ${query.join(" ")}`;
  if (!(name in all)) write({ ...all, [name]: [hits, marked] });
}
