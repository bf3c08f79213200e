// The plane: a query and six keys that can be moved, and the weights that a score gives the keys.

import {answered, asker} from "./asking.js";
import {button, choice, group, slider} from "./controls.js";
import {h, replace, setText} from "./dom.js";
import {colour} from "./palette.js";
import {sayer, share} from "./say.js";
import {sizes} from "./scoring.js";
import {same} from "./store.js";
import {fitted, svg} from "./svg.js";

const SETTINGS = ["score", "query", "points", "d", "strength", "temperature", "picked"];
const SCORES = [
  "additive",
  "general",
  "dot",
  "scaled_dot",
  "content_base",
  "unit_content_base",
  "location_base",
];
const LABELS = ["A", "B", "C", "D", "E", "F"];
const REACH = 3;
const LARGEST = 420; // pixels a side
const TIMES = 3; // a gradient is drawn so many times as long as it is
const SEEN = 0.02; // a shorter one is no arrow
const DRAWN = 0.8; // a longer one is drawn as if it were this long
const THROTTLE = 400;
const ARROWS = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "plane");
  const ask = asker(model);
  const first = Object.fromEntries(SETTINGS.map((name) => [name, model.get(name)]));

  let side = 0; // of the plane, in pixels
  const across = (x) => ((x + REACH) / (2 * REACH)) * side;
  const down = (y) => ((REACH - y) / (2 * REACH)) * side;

  // ------------------------------------------------------------------ what is set

  const set = (name) => (value) => ask({ [name]: value });
  const score = choice({
    label: tell("score"),
    options: SCORES.map((value) => ({ value, label: tell(`score.${value}`) })),
    value: first.score,
    onInput: set("score"),
  });
  const d = slider({
    label: tell("d"),
    ...{ min: 1, max: 9, step: 1, value: Math.log2(first.d) },
    format: (power) => String(2 ** power),
    onInput: (power) => ask({ d: 2 ** power }),
  });
  const strength = slider({
    label: tell("strength"),
    ...{ min: 0.1, max: 20, step: 0.1, value: first.strength },
    onInput: set("strength"),
  });
  const temperature = slider({
    label: tell("temperature"),
    ...{ min: 0.1, max: 5, step: 0.1, value: first.temperature },
    onInput: set("temperature"),
  });
  const picked = choice({
    label: tell("picked"),
    options: LABELS.map((label, value) => ({ value, label })),
    value: first.picked,
    onInput: set("picked"),
  });
  const reset = button({ label: tell("reset"), onPress: () => ask({ ...first }) });

  // ------------------------------------------------------------------ the picture

  const field = h("canvas", { class: "heed-plane-field", "aria-hidden": "true" });
  const grid = svg("path", { class: "grid" });
  const axis = svg("path", { class: "axis" });
  const ticks = svg("g", { class: "ticks" });
  const arrow = svg("path", { class: "arrow" });
  const slope = svg("path", { class: "slope" });
  const cross = svg("path", { class: "cross" });
  const query = point("query", (place) => ask({ query: place }));
  const keys = LABELS.map((label, j) =>
    point("key", (place) => ask({ points: model.get("points").map((key, i) => (i === j ? place : key)) }), {
      pick: () => ask({ picked: j }),
    }),
  );
  const picture = svg(
    "svg",
    { class: "heed-plane-picture", role: "group", "aria-label": tell("plane") },
    ...[grid, axis, ticks, arrow],
    ...keys.map((key) => key.element),
    ...[cross, slope, query.element],
  );
  const box = h("div", { class: "heed-plane-box" }, field, picture);
  // A click on the plane brings the query there; a finger may scroll over it.
  picture.addEventListener("click", (event) => {
    if (!event.target.closest(".point")) ask({ query: placeOf(event) });
  });

  function placeOf({ clientX, clientY }) {
    const { left, top } = picture.getBoundingClientRect();
    const x = ((clientX - left) / side) * 2 * REACH - REACH;
    const y = REACH - ((clientY - top) / side) * 2 * REACH;
    return [within(x), within(y)];
  }

  /** Something that is dragged, or moved by keys. move(place) is called with each new place. */
  function point(kind, move, { pick } = {}) {
    const dot = svg("circle", { class: "dot" });
    const label = svg("text");
    const element = svg(
      "g",
      {
        class: `point ${kind}`,
        tabindex: 0,
        role: "button",
        "aria-roledescription": tell("movable"),
        "data-lm-suppress-shortcuts": "true",
      },
      ...[svg("circle", { class: "reach", r: 16 }), dot, label],
    );
    let place = [0, 0];
    let held = null; // from the pointer to the middle
    element.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      const at = placeOf(event);
      held = [place[0] - at[0], place[1] - at[1]];
      element.setPointerCapture(event.pointerId);
      element.focus({ preventScroll: true });
      event.preventDefault(); // no text is selected
      pick?.();
    });
    // Or the page scrolls under the finger; touch-action is not obeyed inside an SVG.
    element.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    element.addEventListener("pointermove", (event) => {
      if (!held) return;
      const at = placeOf(event);
      const next = [within(at[0] + held[0]), within(at[1] + held[1])];
      if (!same(next, place)) move(next);
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      element.addEventListener(end, () => (held = null));
    }
    element.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const way = ARROWS[event.key];
      if (way) {
        const step = event.shiftKey ? 0.5 : 0.1;
        move([within(place[0] + step * way[0]), within(place[1] + step * way[1])]);
      } else if (pick && (event.key === "Enter" || event.key === " ")) pick();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return {
      element,
      draw(next, { said, text = "", radius = 8, fill = null, chosen }) {
        place = next;
        element.setAttribute("transform", `translate(${across(next[0])} ${down(next[1])})`);
        dot.setAttribute("r", radius);
        if (fill) dot.setAttribute("fill", fill);
        setText(label, text);
        // Beside the dot, and on its other side where the plane ends.
        const right = next[0] < REACH * 0.62;
        label.setAttribute("text-anchor", right ? "start" : "end");
        label.setAttribute("x", (right ? 1 : -1) * (radius + 5));
        label.setAttribute("y", next[1] > REACH * 0.9 ? 12 : next[1] < -REACH * 0.9 ? -4 : 4);
        element.setAttribute("aria-label", said);
        if (pick) element.setAttribute("aria-pressed", String(chosen));
      },
    };
  }

  // ------------------------------------------------------------------ what it says

  const formula = h("p", { class: "heed-formula" });
  const note = h("p", { class: "heed-note" });
  const cells = LABELS.map(() => ["place", "score", "weight"].map(() => h("td", null)));
  const rows = LABELS.map((label, j) => h("tr", null, h("th", { scope: "row" }, label), cells[j]));
  const table = h(
    "table",
    { class: "heed-plane-table" },
    h("caption", { class: "heed-said" }, tell("table")),
    h(
      "thead",
      null,
      h("tr", null, ["key", "place", "a_score", "weight"].map((key) => h("th", { scope: "col" }, tell(key)))),
    ),
    h("tbody", null, rows),
  );
  const facts = h("p", { class: "heed-plane-facts" });
  const gradient = h("p", { class: "heed-plane-gradient" });
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const hint = h("p", { class: "heed-note" }, tell("hint"));
  const root = h(
    "div",
    { class: "heed-sheet heed-plane" },
    score.element,
    formula,
    note,
    group(tell("controls"), d.element, strength.element, temperature.element),
    h(
      "div",
      { class: "heed-plane-two" },
      h("div", { class: "heed-plane-left" }, box, says),
      h(
        "div",
        { class: "heed-plane-right" },
        table,
        facts,
        picked.element,
        h("p", { class: "heed-help" }, tell("picked.help")),
        gradient,
        reset.element,
      ),
    ),
    hint,
  );
  replace(el, root);

  // ------------------------------------------------------------------ drawing

  function draw() {
    const settings = Object.fromEntries(SETTINGS.map((name) => [name, model.get(name)]));
    const answer = model.get("answer");
    const shown = sizes(settings.score);
    score.value = settings.score;
    d.value = Math.log2(settings.d);
    strength.value = settings.strength;
    temperature.value = settings.temperature;
    picked.value = settings.picked;
    d.element.hidden = !shown.d;
    strength.element.hidden = !shown.strength;
    reset.disabled = same(settings, first);
    if (side) drawPicture(settings, answer);
    // What was worked out for another score says nothing of this one.
    if (answered(model, ["score"])) {
      setText(formula, tell(`formula.${settings.score}`));
      setText(note, tell(`note.${settings.score}`, { bound: share(answer.bound) }));
    }
    drawTable(settings, answer);
    speak();
  }

  function drawPicture(settings, { weights, context, gradient: way, field: levels }) {
    query.draw(settings.query, {
      said: tell("at.query", spoken(settings.query)),
      text: "q",
    });
    keys.forEach((key, j) => {
      key.draw(settings.points[j], {
        said: tell("at.key", { key: LABELS[j], ...spoken(settings.points[j]), weight: share(weights[j]) }),
        text: `${LABELS[j]} ${share(weights[j])}`,
        radius: 5 + 9 * Math.sqrt(weights[j]),
        fill: colour(weights[j]).background,
        chosen: settings.picked === j,
      });
    });
    const [x, y] = settings.query;
    arrow.setAttribute("d", arrowTo([0, 0], [x, y], 9));
    const [cx, cy] = [across(context[0]), down(context[1])];
    cross.setAttribute("d", `M${cx - 7} ${cy}H${cx + 7}M${cx} ${cy - 7}V${cy + 7}`);
    const length = way ? Math.hypot(...way) : 0;
    const part = TIMES * (length > DRAWN ? DRAWN / length : 1);
    slope.setAttribute(
      "d",
      length < SEEN ? "" : arrowTo([x, y], [x + way[0] * part, y + way[1] * part], 0, 10),
    );
    shade(levels);
  }

  /** The d of an arrow from one place to another, which ends so many pixels before it. */
  function arrowTo([ax, ay], [bx, by], before, start = 0) {
    const [x, y, toX, toY] = [across(ax), down(ay), across(bx), down(by)];
    const length = Math.hypot(toX - x, toY - y);
    if (length < before + 1) return "";
    const [u, v] = [(toX - x) / length, (toY - y) / length];
    const end = length - before;
    const at = (along, beside) => `${(x + u * along - v * beside).toFixed(1)} ${(y + v * along + u * beside).toFixed(1)}`;
    const from = Math.min(start, Math.max(0, end - 8));
    return `M${at(from, 0)}L${at(end, 0)}M${at(end - 7, 4)}L${at(end, 0)}L${at(end - 7, -4)}`;
  }

  // One pixel a place; the browser smooths between them.
  function shade(levels) {
    const size = levels.length;
    if (field.width !== size) field.width = field.height = size;
    const pen = field.getContext("2d");
    const image = pen.createImageData(size, size);
    levels.flat().forEach((weight, i) => {
      image.data.set([64, 128, 205, 150 * weight], 4 * i);
    });
    pen.putImageData(image, 0, 0);
  }

  function drawTable(settings, { scores, weights, max, entropy, context, gradient: way }) {
    cells.forEach(([place, value, weight], j) => {
      setText(place, pair(settings.points[j]));
      setText(value, decimals(scores[j]));
      setText(weight, share(weights[j]));
      weight.style.setProperty("--weight", weights[j].toFixed(3));
      rows[j].classList.toggle("heed-watched", settings.picked === j);
    });
    const [x, y] = context.map((part) => decimals(part));
    const told = [
      tell("most", { max: share(max) }),
      tell("entropy", { bits: share(entropy), of: share(Math.log2(LABELS.length)) }),
      tell("context", { x, y }),
    ];
    setText(facts, told.join(" "));
    setText(gradient, about(way, LABELS[settings.picked]));
  }

  function about(way, key) {
    if (!way) return tell("gradient.none");
    const [x, y] = way.map((part) => decimals(part, 3));
    const length = Math.hypot(...way);
    const told = tell("gradient", { key, x, y, length: decimals(length, 3) });
    if (length < SEEN) return `${told} ${tell("gradient.flat")}`;
    return length > DRAWN ? `${told} ${tell("gradient.long")}` : told;
  }

  // ------------------------------------------------------------------ the spoken line

  let timer = 0;

  function speak() {
    clearTimeout(timer);
    timer = setTimeout(speakNow, THROTTLE);
  }

  function speakNow() {
    const { weights } = model.get("answer");
    const looks = weights
      .map((weight, j) => [weight, j])
      .sort(([a], [b]) => b - a)
      .slice(0, 3)
      .map(([weight, j]) => tell("look", { key: LABELS[j], weight: share(weight) }));
    setText(says, tell("says", { ...spoken(model.get("query")), looks: looks.join(", ") }));
  }

  // ------------------------------------------------------------------ life

  const stopFitting = fitted(box, (width) => {
    side = Math.min(width, LARGEST);
    for (const each of [picture, field]) {
      each.style.width = each.style.height = `${side}px`;
    }
    const lines = [-2, -1, 1, 2];
    grid.setAttribute("d", lines.map((x) => `M${across(x)} 0V${side}M0 ${down(x)}H${side}`).join(""));
    axis.setAttribute("d", `M${across(0)} 0V${side}M0 ${down(0)}H${side}`);
    const number = (value, x, y) => svg("text", { x, y, "aria-hidden": "true" }, minus(String(value)));
    ticks.replaceChildren(
      ...lines.map((x) => number(x, across(x) + 3, down(0) + 13)),
      ...lines.map((y) => number(y, across(0) + 4, down(y) + 13)),
    );
    draw();
  });
  for (const name of [...SETTINGS, "answer"]) model.on(`change:${name}`, draw);
  draw();
  speakNow();

  return () => {
    for (const name of [...SETTINGS, "answer"]) model.off(`change:${name}`, draw);
    stopFitting();
    clearTimeout(timer);
    ask.stop();
  };
}

// ---------------------------------------------------------------------- numbers

function within(x) {
  return Math.round(100 * Math.max(-REACH, Math.min(REACH, x))) / 100;
}

function minus(text) {
  return text.replace("-", "−");
}

function decimals(number, digits = 2) {
  const text = number.toFixed(digits);
  return minus(Number(text) === 0 ? (0).toFixed(digits) : text);
}

function spoken([x, y]) {
  return { x: minus(String(x)), y: minus(String(y)) };
}

function pair(place) {
  return place.map((x) => decimals(x, 2)).join(", ");
}
