// The tape lab: bits that a reader paints, a machine with a memory that copies them, and its heads,
// which the reader can take in hand.
//
// Settings: pattern, seed, step, hands, since. Reads besides: sizes, answer, strings, asleep.

import {asker, expecting} from "./asking.js";
import {button, group, slider, toggle} from "./controls.js";
import {h, replace, setAttribute, setProperty, setText} from "./dom.js";
import {largest, loudest} from "./numbers.js";
import {colour, diverging} from "./palette.js";
import {sayer, share} from "./say.js";
import {same} from "./store.js";
import {drawnBits, unpacked, usedSlots} from "./tape_bits.js";

const SETTINGS = ["pattern", "seed", "step", "hands", "since"];
const ASKED = ["pattern", "step", "hands", "since"];
const WATCHED = [...SETTINGS, "answer", "sizes"];
const LONGEST = 40; // vectors
const HEADS = ["write", "read"];
const SLIDERS = {
  strength: { min: 0, max: 20, step: 0.25 },
  gate: { min: 0, max: 1, step: 0.05 },
  shift: { min: -1, max: 1, step: 0.1 },
  focus: { min: 1, max: 20, step: 0.25 },
};
const TAKEN = [
  ["strength", 0],
  ["gate", 0],
  ["gate", 1],
  ["shift", 0],
  ["focus", 1],
];
const PACE = 220; // milliseconds a step
const THROTTLE = 400; // before a step is spoken of
const MOSTLY = 0.5; // of a head, where it can be said to be on a slot
const SLOTS = 4; // of each head, in the table
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const SHADES = Array.from({ length: 256 }, (_, i) => channels(colour(i / 255).background));
const BETWEEN = Array.from({ length: 256 }, (_, i) => channels(diverging(i / 127.5 - 1).background));

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "tape");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const get = (name) => model.get(name);
  const first = Object.fromEntries(SETTINGS.map((name) => [name, get(name)]));
  const { bits, slots, d_slot: wide } = get("sizes");

  let drawnCount = null;
  let seen = null; // the answer on screen, and what is made of it
  let every = false; // all slots, and not only those that are used
  let playing = false;
  let tick = 0;
  let timer = 0;

  const steps = () => 2 * get("pattern").length + 1;
  const step = () => Math.min(get("step"), steps() - 1);

  function send(settings) {
    ask(settings);
    draw();
  }

  // ------------------------------------------------------------------ the pattern

  const another = button({
    label: tell("another"),
    onPress() {
      const seed = (get("seed") + 1) % 2 ** 32;
      send({ seed, pattern: drawnBits(seed, get("pattern").length, bits) });
    },
  });
  const length = slider({
    label: tell("length"),
    ...{ min: 1, max: LONGEST, step: 1, value: get("pattern").length },
    onInput: resize,
  });
  const reset = button({ label: tell("reset"), quiet: true, onPress: () => send({ ...first }) });

  // A longer pattern goes on as the drawn one would; who looks at the answer goes on looking at it.
  function resize(count) {
    const pattern = get("pattern");
    const more = drawnBits(get("seed"), count, bits).slice(pattern.length);
    const [now, before] = [step(), pattern.length];
    const at = now <= before ? Math.min(now, count) : count + 1 + Math.min(now - before - 1, count - 1);
    send({ pattern: [...pattern.slice(0, count), ...more], step: at });
  }

  const grid = h("table", {
    class: "heed-tape-grid",
    role: "grid",
    "aria-label": tell("input.paint"),
    on: { keydown: gridKey, click: gridClick, pointerdown: brushDown, pointerover: brushOver },
  });
  const echo = h("table", { class: "heed-tape-grid heed-tape-echo", "aria-label": tell("output") });
  const scroll = h(
    "div",
    { class: "heed-scroll heed-tape-tape", tabindex: 0, role: "region", "aria-label": tell("tape") },
    h("p", { class: "heed-tape-name", "aria-hidden": "true" }, tell("input")),
    grid,
    h("p", { class: "heed-tape-name", "aria-hidden": "true" }, tell("output")),
    echo,
  );
  const result = h("p", { class: "heed-verdict heed-tape-result", "aria-live": "polite" });

  let cells = []; // row by row
  let echoes = [];
  let cursor = [0, 0];
  let brush = null; // what the mouse paints while it is down
  let painted = false; // the click that follows is of a press that was heard

  function rule() {
    const count = get("pattern").length;
    if (cells[0]?.length === count) return;
    const make = (row, kind) =>
      Array.from({ length: count }, (_, column) =>
        h("td", kind === "grid" ? { role: "gridcell", "data-row": row, "data-column": column } : null),
      );
    cells = Array.from({ length: bits }, (_, row) => make(row, "grid"));
    echoes = Array.from({ length: bits }, (_, row) => make(row, "echo"));
    const lines = (all, role) => all.map((row) => h("tr", role, row));
    replace(grid, h("tbody", { role: "rowgroup" }, lines(cells, { role: "row" })));
    replace(echo, h("tbody", null, lines(echoes, null)));
    cursor = [Math.min(cursor[0], bits - 1), Math.min(cursor[1], count - 1)];
  }

  const place = (event) => {
    const cell = event.target.closest?.("td[data-row]");
    return cell && [Number(cell.dataset.row), Number(cell.dataset.column)];
  };

  function paint([row, column], bit) {
    const pattern = get("pattern");
    if (asleep || pattern[column][row] === bit) return;
    const vector = [...pattern[column]];
    vector[row] = bit;
    send({ pattern: pattern.map((each, i) => (i === column ? vector.join("") : each)) });
  }

  const other = ([row, column]) => (get("pattern")[column][row] === "1" ? "0" : "1");

  function rove([row, column], focus = true) {
    cells[cursor[0]][cursor[1]].tabIndex = -1;
    cursor = [row, column];
    const cell = cells[row][column];
    setAttribute(cell, "tabindex", asleep ? -1 : 0);
    cell.dataset.lmSuppressShortcuts = "true";
    if (focus) cell.focus();
  }

  function gridKey(event) {
    const at = place(event);
    if (!at || event.altKey || event.ctrlKey || event.metaKey) return;
    const last = get("pattern").length - 1;
    const move = MOVES[event.key];
    if (move) {
      const within = (value, most) => Math.max(0, Math.min(most, value));
      rove([within(at[0] + move[0], bits - 1), within(at[1] + move[1], last)]);
    } else if (event.key === "Home") rove([at[0], 0]);
    else if (event.key === "End") rove([at[0], last]);
    else if (event.key === " " || event.key === "Enter") paint(at, other(at));
    else return;
    event.preventDefault();
  }

  function brushDown(event) {
    const at = place(event);
    painted = false;
    if (!at || event.pointerType === "touch" || event.button !== 0 || asleep) return;
    brush = other(at);
    painted = true;
    rove(at);
    paint(at, brush);
    event.preventDefault(); // no text is to be marked
  }

  function brushOver(event) {
    const at = place(event);
    if (brush !== null && at && event.buttons & 1) paint(at, brush);
  }

  const brushUp = () => (brush = null);
  globalThis.addEventListener("pointerup", brushUp);

  // A finger taps; where it moves, the page or the tape is scrolled.
  function gridClick(event) {
    const at = place(event);
    if (at && !painted) {
      rove(at);
      paint(at, other(at));
    }
    painted = false;
  }

  // ------------------------------------------------------------------ time

  const play = button({ label: tell("play"), onPress: () => (playing ? pause() : start()) });
  const when = slider({
    label: tell("when"),
    ...{ min: 0, max: 2 * LONGEST, step: 1, value: get("step") },
    format: (at) => tell("when.of", { step: Math.min(at, steps() - 1) + 1, steps: steps() }),
    onInput(at) {
      pause();
      send({ step: at });
    },
  });
  const forward = button({
    label: tell("forward"),
    onPress() {
      pause();
      send({ step: (step() + 1) % steps() });
    },
  });
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const status = h("p", { class: "heed-status", role: "status" });

  function start() {
    playing = true;
    play.label = tell("pause");
    if (step() === steps() - 1) send({ step: 0 });
    tick = setTimeout(on, PACE);
  }

  function pause() {
    playing = false;
    play.label = tell("play");
    clearTimeout(tick);
  }

  function on() {
    if (!expecting(model, ASKED)) send({ step: Math.min(step() + 1, steps() - 1) });
    if (step() === steps() - 1) pause();
    else tick = setTimeout(on, PACE);
  }

  // ------------------------------------------------------------------ memory and trails

  const trail = Object.fromEntries(
    HEADS.map((head) => [head, h("canvas", { class: "heed-tape-trail", role: "img" })]),
  );
  const memory = h("canvas", { class: "heed-tape-memory", role: "img" });
  const bar = Object.fromEntries(
    HEADS.map((head) => [head, h("canvas", { class: "heed-tape-bar", "aria-hidden": "true" })]),
  );
  const named = Object.fromEntries(
    [...HEADS, "memory"].map((name) => [name, h("p", { class: "heed-tape-name" }, tell(`panel.${name}`))]),
  );
  const timed = Object.fromEntries(
    HEADS.map((head) => [
      head,
      h(
        "div",
        { class: "heed-tape-time", on: { click: jump } },
        trail[head],
        h("i", { class: "heed-tape-now", "aria-hidden": "true" }),
      ),
    ]),
  );
  const panel = (name, content) => h("div", { class: `heed-tape-panel heed-tape-of-${name}` }, named[name], content);
  const panels = h(
    "div",
    { class: "heed-tape-panels" },
    panel("write", timed.write),
    panel("memory", h("div", { class: "heed-tape-matrix" }, bar.write, memory, bar.read)),
    panel("read", timed.read),
  );
  const range = h("p", { class: "heed-note" });
  const whole = toggle({
    label: tell("every", { slots }),
    value: every,
    onInput(value) {
      every = value;
      draw();
    },
  });

  function jump(event) {
    if (asleep) return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / width) * steps());
    pause();
    send({ step: Math.max(0, Math.min(steps() - 1, at)) });
  }

  // ------------------------------------------------------------------ hands

  const key = (head, command) => `${head}.${command}`;

  function take(changes, pressed = true) {
    const hands = { ...get("hands") };
    for (const [name, value] of Object.entries(changes)) {
      if (pressed) hands[name] = value;
      else delete hands[name];
    }
    send({ hands });
  }

  // What a head was told in the step on screen, as one number.
  function obeyed(head, command) {
    const told = seen?.now[head];
    if (!told) return SLIDERS[command].min;
    if (command !== "shift") return told[command] ?? 0;
    const [back, , ahead] = told.shifts;
    return (ahead ?? 0) - (back ?? 0);
  }

  const controls = HEADS.flatMap((head) =>
    Object.entries(SLIDERS).map(([command, ends]) => {
      const name = key(head, command);
      const value = slider({
        label: tell(`command.${command}`),
        ...{ ...ends, value: ends.min },
        format: (number) => worded(head, command, number),
        onInput: (number) => take({ [name]: number }),
      });
      const mine = toggle({
        label: tell("mine", { symbol: tell(`symbol.${command}`) }),
        value: false,
        onInput: (on) => take({ [name]: within(obeyed(head, command), ends) }, on),
      });
      return { name, head, command, value, mine };
    }),
  );
  const hands = h(
    "div",
    { class: "heed-tape-hands" },
    HEADS.map((head) =>
      h(
        "div",
        { class: "heed-tape-head", role: "group", "aria-label": tell(`head.${head}`) },
        h("p", { class: "heed-tape-name" }, tell(`head.${head}`)),
        controls
          .filter((each) => each.head === head)
          .map(({ value, mine }) => h("div", { class: "heed-tape-command" }, value.element, mine.element)),
      ),
    ),
  );
  const tried = TAKEN.map(([command, value]) => {
    const names = HEADS.map((head) => key(head, command));
    const press = button({
      label: worth(command, value),
      onPress() {
        const on = names.every((name) => get("hands")[name] === value);
        take(Object.fromEntries(names.map((name) => [name, value])), !on);
      },
    });
    return { names, value, press };
  });
  const off = button({ label: tell("off"), quiet: true, onPress: () => send({ hands: {} }) });
  const always = button({ label: tell("since.always"), onPress: () => send({ since: 0 }) });
  const later = button({ label: tell("since.now"), onPress: () => send({ since: step() }) });
  const presets = group(tell("try"), ...tried.map(({ press }) => press.element), off.element);
  const since = group(tell("since"), always.element, later.element);

  function worded(head, command, number) {
    if (command !== "shift") return decimals(number);
    if (key(head, command) in get("hands")) return worth("shift", number);
    const told = seen?.now[head].shifts ?? [];
    return told.map((each) => share(each ?? 0)).join(" ");
  }

  // "g = 1", "no shift"
  function worth(command, value) {
    if (command === "shift" && [-1, 0, 1].includes(value)) return tell(`shift.${value}`);
    return tell("worth", { symbol: tell(`symbol.${command}`), value: decimals(value) });
  }

  // ------------------------------------------------------------------ numbers

  const rows = h("tbody", null);
  const numbers = h(
    "details",
    { class: "heed-numbers" },
    h("summary", null, tell("numbers.open")),
    h(
      "div",
      { class: "heed-scroll", tabindex: 0 },
      h(
        "table",
        null,
        h("caption", null, tell("numbers", { count: SLOTS })),
        h(
          "thead",
          null,
          h("tr", null, ["head", "slot", "weight"].map((name) => h("th", { scope: "col" }, tell(name)))),
        ),
        rows,
      ),
    ),
  );

  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-tape" },
      h("div", { class: "heed-tape-tools" }, length.element, another.element, reset.element),
      h("p", { class: "heed-note heed-tape-help" }, tell("help")),
      scroll,
      result,
      h("div", { class: "heed-tape-times" }, play.element, forward.element, when.element),
      says,
      panels,
      h("div", { class: "heed-tape-under" }, range, whole.element),
      h("p", { class: "heed-tape-title" }, tell("hands")),
      presets,
      hands,
      since,
      status,
      numbers,
    ),
  );
  for (const each of [".heed-tape-tools", ".heed-tape-times", ".heed-tape-help"]) {
    el.querySelector(each).hidden = asleep;
  }
  for (const each of [presets, since]) each.hidden = asleep;
  for (const { value, mine } of controls) {
    value.disabled = asleep;
    mine.element.hidden = asleep;
  }

  // ------------------------------------------------------------------ drawing

  function draw() {
    el.firstChild.setAttribute("aria-busy", String(expecting(model, ASKED)));
    const answer = get("answer") ?? {};
    setText(status, answer.message ? tell("failed") : "");
    status.hidden = !answer.message;
    drawPattern();
    if (answer.count !== drawnCount && answer.now) {
      drawnCount = answer.count;
      const trails = Object.fromEntries(
        [["write", answer.writing], ["read", answer.reading]].map(([head, bytes]) => [head, unpacked(bytes)]),
      );
      seen = { ...answer, trails, memory: unpacked(answer.now.memory), used: usedSlots(Object.values(trails), slots) };
      drawAnswer();
    }
    if (seen) drawMemory();
    drawControls();
  }

  function drawPattern() {
    rule();
    const [pattern, at] = [get("pattern"), step()];
    cells.forEach((line, row) =>
      line.forEach((cell, column) => {
        const bit = pattern[column][row];
        setText(cell, bit);
        setAttribute(cell, "class", `heed-bit-${bit}${column === at ? " heed-tape-here" : ""}`);
        setAttribute(cell, "aria-label", tell("bit", { vector: column + 1, row: row + 1, bit }));
        if (!cell.hasAttribute("tabindex")) cell.tabIndex = -1;
      }),
    );
    rove(cursor, false);
  }

  // What comes out belongs to the pattern that was asked about; another one may stand above by now.
  function drawAnswer() {
    const { pattern } = seen.asked ?? { pattern: get("pattern") };
    const at = seen.now.step - pattern.length - 1;
    echoes.forEach((line, row) =>
      line.forEach((cell, column) => {
        const p = seen.said[column]?.[row] ?? null;
        const bit = p === null ? "" : p > 0.5 ? "1" : "0";
        const wrong = bit !== "" && bit !== pattern[column][row];
        const shade = colour(p ?? 0);
        setText(cell, bit);
        setProperty(cell, "background", p === null ? "none" : shade.background);
        setProperty(cell, "color", shade.ink);
        const due = column > at ? " heed-tape-due" : "";
        setAttribute(cell, "class", `${wrong ? "heed-wrong" : "heed-right"}${column === at ? " heed-tape-here" : ""}${due}`);
        if (wrong) setAttribute(cell, "aria-label", tell("bit.wrong", { vector: column + 1, row: row + 1, bit }));
        else cell.removeAttribute("aria-label");
      }),
    );
    const taken = Object.entries(seen.asked?.hands ?? {});
    const values = { wrong: seen.wrong, of: seen.of, alone: seen.alone, hands: handsNamed(taken) };
    setText(result, tell(taken.length ? "result.by" : "result.alone", values));
    result.classList.toggle("heed-right", seen.wrong === 0);
    clearTimeout(timer);
    const said = spoken(pattern);
    timer = setTimeout(() => setText(says, said), says.textContent ? THROTTLE : 0);
    list();
  }

  function handsNamed(taken) {
    const both = (command, value) => HEADS.every((head) => taken.some(([name, v]) => name === key(head, command) && v === value));
    const named = taken.map(([name, value]) => {
      const [head, command] = name.split(".");
      if (both(command, value)) return worth(command, value);
      return tell("of", { what: worth(command, value), head: tell(`head.${head}`).toLowerCase() });
    });
    const list = [...new Set(named)].join(", ");
    const from = seen.asked.since;
    return from ? tell("from", { hands: list, step: from + 1 }) : list;
  }

  function spoken(pattern) {
    const { step: at, reading, writing } = seen.now;
    const { length: count } = pattern;
    const values = { step: at + 1, steps: 2 * count + 1, vector: at < count ? at + 1 : at - count };
    const phase = tell(at < count ? "says.in" : at === count ? "says.mark" : "says.out", values);
    const [head, weights] = at < count ? ["write", writing] : ["read", reading];
    const slot = largest(weights);
    const where = { slot, weight: share(weights[slot] ?? 0), head: tell(`head.${head}`).toLowerCase() };
    if (!(weights[slot] >= MOSTLY)) return `${phase} ${tell("says.spread", where)}`;
    if (head === "write") return `${phase} ${tell("says.write", where)}`;
    const wrote = writer(slot, count);
    return `${phase} ${tell(wrote < 0 ? "says.read" : "says.read.of", { ...where, vector: wrote + 1 })}`;
  }

  // Which vector was written to a slot while the pattern came in: the last one that mostly was.
  function writer(slot, count) {
    for (let t = count - 1; t >= 0; t -= 1) {
      const row = seen.trails.write.subarray(t * slots, (t + 1) * slots);
      if (row[slot] >= 255 * MOSTLY) return t;
    }
    return -1;
  }

  function list() {
    const { reading, writing } = seen.now;
    const heads = { write: writing, read: reading };
    replace(
      rows,
      HEADS.flatMap((head) =>
        loudest(heads[head].map((weight) => weight ?? 0), { least: 0, most: SLOTS }).map(([slot, weight]) =>
          h("tr", null, h("th", { scope: "row" }, tell(`head.${head}`)), h("td", null, slot), h("td", null, weight.toFixed(4))),
        ),
      ),
    );
  }

  function drawMemory() {
    const { first: from, count } = every ? { first: 0, count: slots } : seen.used;
    const slot = (row) => (from + row) % slots;
    const time = seen.trails.read.length / slots;
    setProperty(panels, "--rows", count);
    for (const head of HEADS) {
      const bytes = seen.trails[head];
      show(trail[head], time, count, (row, column) => SHADES[bytes[column * slots + slot(row)]]);
      setAttribute(trail[head], "aria-label", tell(`trail.${head}`));
      setProperty(timed[head], "--part", (seen.now.step + 0.5) / time);
      const weights = head === "read" ? seen.now.reading : seen.now.writing;
      show(bar[head], 1, count, (row) => SHADES[Math.floor(255 * (weights[slot(row)] ?? 0) + 0.5)]);
    }
    show(memory, wide, count, (row, column) => BETWEEN[seen.memory[slot(row) * wide + column]]);
    setAttribute(memory, "aria-label", tell("memory", { step: seen.now.step + 1, slots: count }));
    setText(named.memory, tell("panel.memory", { step: seen.now.step + 1 }));
    const ends = { first: from, last: slot(count - 1), end: slots - 1 };
    setText(range, tell(ends.last < from ? "range.round" : "range", ends));
    whole.element.hidden = seen.used.count === slots;
  }

  function drawControls() {
    const { length: count } = get("pattern");
    length.value = count;
    when.max = 2 * count;
    when.value = step();
    reset.disabled = SETTINGS.every((name) => same(get(name), first[name]));
    const held = get("hands");
    for (const { name, head, command, value, mine } of controls) {
      mine.value = name in held;
      value.value = held[name] ?? obeyed(head, command);
      value.element.parentElement.classList.toggle("heed-tape-taken", name in held);
    }
    for (const { names, value, press } of tried) {
      press.pressed = names.every((name) => held[name] === value);
    }
    const any = Object.keys(held).length > 0;
    off.disabled = !any;
    const from = get("since");
    always.pressed = from === 0;
    later.pressed = from > 0;
    later.label = from > 0 ? tell("since.step", { step: from + 1 }) : tell("since.now");
  }

  // ------------------------------------------------------------------ life

  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    globalThis.removeEventListener("pointerup", brushUp);
    clearTimeout(timer);
    pause();
    ask.stop();
  };
}

// ---------------------------------------------------------------------- pictures and numbers

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

function show(element, across, down, pixel) {
  if (element.width !== across) element.width = across;
  if (element.height !== down) element.height = down;
  const pen = element.getContext("2d");
  const image = pen.createImageData(across, down);
  for (let row = 0; row < down; row += 1) {
    for (let column = 0; column < across; column += 1) {
      const at = 4 * (row * across + column);
      image.data.set(pixel(row, column), at);
      image.data[at + 3] = 255;
    }
  }
  pen.putImageData(image, 0, 0);
}

function within(value, { min, max }) {
  return Math.max(min, Math.min(max, value));
}

function decimals(number) {
  return Number(number.toFixed(2)).toString().replace("-", "−");
}
