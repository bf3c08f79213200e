// Watch it being learnt: the map of a sentence at some thirty moments of training.
//
// Settings: sentence, moment. Reads besides: data, strings. No model answers: all is in `data`.

import {button, slider} from "./controls.js";
import {h, setText, unique} from "./dom.js";
import {common} from "./lcs.js";
import {attentionMap} from "./map.js";
import {isNumber} from "./numbers.js";
import {END} from "./remarks.js";
import {sayer} from "./say.js";
import {markedLine} from "./sentence.js";
import {fitted, svg, through} from "./svg.js";

const BEAT = 450; // milliseconds from one moment to the next while it plays
const MORE = 6; // words beyond the right sentence that are shown of what it goes on writing
const QUIET = 500; // milliseconds of rest before a moment is spoken

/** Weights from bytes: moment × target × source, in 255ths. */
function unpacked(input, moments) {
  const bytes = Uint8Array.from(atob(input.maps), (letter) => letter.charCodeAt(0));
  const [rows, columns] = [input.target.length, input.source.length];
  if (bytes.length !== moments * rows * columns) {
    throw new Error(`maps of ${bytes.length} bytes are not ${moments} × ${rows} × ${columns}`);
  }
  return (moment, row) => {
    const start = (moment * rows + row) * columns;
    return Array.from(bytes.subarray(start, start + columns), (level) => level / 255);
  };
}

/** Gold links as marks of the map, if the sentence has any: [source, target] pairs. */
function rings({ sure = [], possible = [] }) {
  const marks = [];
  for (const [column, row] of possible) marks.push([row, column, "possible"]);
  for (const [column, row] of sure) marks.push([row, column, "sure"]); // they are among the others
  return marks;
}

/** The moment whose place is nearest. */
function nearest(places, x) {
  let best = 0;
  places.forEach((place, i) => {
    if (Math.abs(place - x) < Math.abs(places[best] - x)) best = i;
  });
  return best;
}

/** Two curves over the steps on a log scale, one above the other, and a marker to drag. */
function curves({ tell, number, steps, loss: measured, onMoment }) {
  const loss = measured.filter(([, , valid]) => isNumber(valid)); // a run may have diverged
  const first = Math.min(...steps.filter((step) => step > 0)) / 2;
  const last = Math.max(steps.at(-1), loss.length ? loss.at(-1)[0] : 1);
  const highest = Math.ceil(Math.max(1, ...loss.map(([, , valid]) => valid)));
  const [LEFT, RIGHT, TOP, GAP, PANEL, BOTTOM] = [48, 12, 20, 26, 64, 36];
  let width = 0;
  let right = null;
  let moment = 0;
  let places = [];

  const marker = svg(
    "g",
    { class: "marker" },
    svg("path", { class: "wide", d: "M0 0V0" }),
    svg("path", { class: "thin", d: "M0 0V0" }),
    svg("circle", { r: 6 }),
  );
  const box = h("div", { class: "heed-curves", role: "img" });

  // Step 0 has no place on a log scale; it stands where the first half step would be.
  const x = (step) => {
    const part = Math.log(Math.max(step, first) / first) / Math.log(last / first);
    return LEFT + (width - LEFT - RIGHT) * part;
  };

  function panel(top, name, highestOf, ticks, points, kind) {
    const y = (value) => top + PANEL * (1 - value / highestOf);
    const line = points.map(([step, value]) => [x(step), y(value)]);
    return [
      svg("text", { class: "name", x: LEFT, y: top - 8 }, name),
      ...ticks.flatMap(([value, text]) => [
        svg("path", { class: "grid", d: `M${LEFT} ${y(value)}H${width - RIGHT}` }),
        svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, text),
      ]),
      svg("path", { class: `line ${kind}`, d: through(line) }),
      ...line.map(([cx, cy]) => svg("circle", { class: `dot ${kind}`, cx, cy, r: 2 })),
    ];
  }

  function frame() {
    if (!width) return;
    places = steps.map(x);
    const parts = [];
    let top = TOP;
    if (right) {
      const points = right.map((share, i) => [steps[i], share]).filter(([, v]) => isNumber(v));
      const ticks = [
        [0, "0 %"],
        [1, "100 %"],
      ];
      parts.push(...panel(top, tell("right"), 1, ticks, points, "right"));
      top += PANEL + GAP;
    }
    const points = loss.map(([step, , valid]) => [step, valid]);
    const ticks = [
      [0, "0"],
      [highest, String(highest)],
    ];
    parts.push(...panel(top, tell("loss"), highest, ticks, points, "loss"));
    const floor = top + PANEL;
    const height = floor + BOTTOM;
    for (let step = 1; step <= last; step *= 10) {
      if (step < first) continue;
      const mark = { x: x(step), y: floor + 16, "text-anchor": "middle" };
      parts.push(svg("text", mark, number(step)));
    }
    const name = { x: (LEFT + width - RIGHT) / 2, y: floor + 32, "text-anchor": "middle" };
    parts.push(svg("text", name, tell("steps")));
    const [wide, thin, handle] = marker.children;
    wide.setAttribute("d", `M0 ${TOP - 4}V${floor}`);
    thin.setAttribute("d", `M0 ${TOP - 4}V${floor}`);
    handle.setAttribute("cy", floor);
    const size = { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" };
    box.replaceChildren(svg("svg", size, ...parts, marker));
    point();
  }

  function point() {
    if (width) marker.style.transform = `translateX(${places[moment].toFixed(1)}px)`;
  }

  let held = null;
  const dragged = (event) => {
    if (event.pointerId !== held || !places.length) return;
    onMoment(nearest(places, event.clientX - box.getBoundingClientRect().left));
  };
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    held = event.pointerId;
    box.setPointerCapture(held);
    event.preventDefault();
    dragged(event);
  });
  box.addEventListener("pointermove", dragged);
  for (const over of ["pointerup", "pointercancel"]) {
    box.addEventListener(over, () => {
      held = null;
    });
  }

  const stop = fitted(box, (now) => {
    width = now;
    frame();
  });
  return {
    element: h("figure", {}, h("figcaption", {}, tell("curves")), box),
    sentence(shares) {
      right = shares;
      frame();
      const said = [];
      const ends = (numbers, write) => ({ from: write(numbers[0]), to: write(numbers.at(-1)) });
      const losses = loss.map(([, , valid]) => valid);
      if (losses.length) said.push(tell("curves_label", ends(losses, (x) => x.toFixed(2))));
      const rights = (shares ?? []).filter(isNumber);
      if (rights.length) said.push(tell("curves_right", ends(rights, (x) => Math.round(100 * x))));
      box.setAttribute("aria-label", said.join(" "));
    },
    moment(at) {
      moment = at;
      point();
    },
    stop,
  };
}

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "learning");
  const { steps, loss, inputs } = model.get("data");
  const language = el.closest("[lang]")?.lang || "en";
  const number = (n) => n.toLocaleString(language);
  const weights = inputs.map(() => null); // unpacked when first looked at
  const within = (at, length) => Math.max(0, Math.min(length - 1, Number(at) || 0));
  const bare = (words) => words.filter((word) => word !== END);

  let playing = 0;
  let quiet = 0;

  const chosen = unique("sentence");
  const which = h(
    "select",
    {
      id: chosen,
      class: "heed-select",
      lang: "en",
      on: { change: () => put({ sentence: which.selectedIndex }) },
    },
    inputs.map(({ source }) => h("option", null, bare(source).join(" "))),
  );
  const when = slider({
    label: tell("moment"),
    min: 0,
    max: steps.length - 1,
    step: 1,
    value: within(model.get("moment"), steps.length),
    format: (at) => tell("step", { step: number(steps[at]), last: number(steps.at(-1)) }),
    onInput: (moment) => {
      pause();
      put({ moment });
    },
  });
  const play = button({ label: tell("play"), onPress: () => (playing ? pause() : start()) });
  const map = attentionMap({ strings, label: tell("map") });
  const chart = curves({
    tell,
    number,
    steps,
    loss,
    onMoment: (moment) => {
      pause();
      put({ moment });
    },
  });
  const said = markedLine(tell("writes"), "fr");
  const count = h("p", { class: "heed-count" });
  const gold = h("span", null, tell("gold"));
  const note = h("p", { class: "heed-note" }, tell("rows"), " ", gold);
  const spoken = h("p", { class: "heed-said", role: "status" });

  function put(changes) {
    model.set(changes);
    model.save_changes();
  }

  function start() {
    if (model.get("moment") >= steps.length - 1) put({ moment: 0 });
    playing = setInterval(() => {
      const next = within(model.get("moment"), steps.length) + 1;
      if (next < steps.length) put({ moment: next });
      if (next >= steps.length - 1 || !el.isConnected) pause();
    }, BEAT);
    play.label = tell("pause");
    sheet.classList.add("heed-playing");
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.label = tell("play");
    sheet.classList.remove("heed-playing");
  }

  function draw() {
    const sentence = within(model.get("sentence"), inputs.length);
    const moment = within(model.get("moment"), steps.length);
    const input = inputs[sentence];
    weights[sentence] ??= unpacked(input, steps.length);
    which.selectedIndex = sentence;
    when.value = moment;

    const rows = input.target.map((_, row) => weights[sentence](moment, row));
    map.draw({ query: input.target, key: input.source, weights: rows }, { rings: rings(input) });

    gold.hidden = !input.possible?.length;

    const words = input.said[moment].split(" ").filter(Boolean);
    const right = new Set(common(words, bare(input.target)).map(([i]) => i));
    const wrong = { class: "heed-made-up", said: tell("wrong") };
    const most = input.target.length + MORE;
    const rest = words.length > most ? tell("rest", { n: words.length - most }) : "";
    const marks = words.map((_, i) => (right.has(i) ? null : wrong));
    said.draw(words.slice(0, most), marks, rest);

    const told = [tell("count", { n: right.size, m: bare(input.target).length })];
    if (isNumber(input.right?.[moment])) told.push(tell("looks", { p: Math.round(100 * input.right[moment]) }));
    setText(count, told.join(" "));
    chart.moment(moment);
    clearTimeout(quiet);
    quiet = setTimeout(
      () => setText(spoken, `${tell("writes")} ${input.said[moment]} ${count.textContent}`),
      QUIET,
    );
  }

  function turned() {
    chart.sentence(inputs[within(model.get("sentence"), inputs.length)].right);
    draw();
  }

  const sheet = h(
    "div",
    { class: "heed-sheet heed-learning", role: "group", "aria-label": tell("label") },
    h("div", { class: "heed-control" }, h("label", { for: chosen }, tell("sentence")), which),
    h("div", { class: "heed-time" }, play.element, when.element),
    said.element,
    count,
    spoken,
    map.element,
    note,
    chart.element,
  );
  el.replaceChildren(sheet);
  model.on("change:moment", draw);
  model.on("change:sentence", turned);
  turned();
  return () => {
    pause();
    clearTimeout(quiet);
    chart.stop();
    map.stop();
    model.off("change:moment", draw);
    model.off("change:sentence", turned);
  };
}
