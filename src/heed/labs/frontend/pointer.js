// The pointer lab: points on a square, which a reader adds, pulls and removes; what a network points
// at, step by step; and its answer beside the right one.
//
// Settings: points, choice, masked, width, step, seed. Reads besides: choices, answer, strings, asleep.

import {asker, expecting} from "./asking.js";
import {button, choice as choiceOf, group, slider, toggle} from "./controls.js";
import {h, replace, setAttribute, setText} from "./dom.js";
import {loudest} from "./numbers.js";
import {sayer, share} from "./say.js";
import {same} from "./store.js";
import {fitted, svg, through} from "./svg.js";
import {named, scattered, within} from "./tours.js";

const SETTINGS = ["points", "choice", "masked", "width", "step", "seed"];
const ASKED = ["points", "choice", "masked", "width"];
const WATCHED = [...SETTINGS, "answer", "choices"];
const [LEAST, MOST] = [3, 20]; // points
const WIDEST = 5; // of a beam
const LARGEST = 440; // pixels a side
const MARGIN = 24; // around the square
const DISC = 22; // pixels, the radius of a disc of weight 1
const [NUDGE, STRIDE] = [0.02, 0.1]; // of an arrow key, and with Shift
const BEAT = 900; // milliseconds from step to step while it plays
const THROTTLE = 400;
const SEEN = 0.01; // a smaller weight is not spoken of
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "pointer");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const get = (name) => model.get(name);
  const first = Object.fromEntries(SETTINGS.map((name) => [name, get(name)]));
  const own = () => get("choices")?.[get("choice")] ?? {};

  let side = 0; // of the square, in pixels
  let picked = get("points").length - 1; // the point that had the focus last
  let showing = true; // what is right
  let playing = 0;
  let timer = 0;
  let listed = null;

  const across = (x) => MARGIN + x * side;
  const down = (y) => MARGIN + (1 - y) * side;
  const at = ([x, y]) => [across(x), down(y)];

  // Nobody answers to a step: it is sent off and drawn.
  function look(settings) {
    model.set(settings);
    model.save_changes();
    draw();
  }

  function change(settings) {
    ask(settings);
    draw();
  }

  // ------------------------------------------------------------------ points

  function add(place) {
    const points = get("points");
    if (asleep || points.length >= MOST) return;
    picked = points.length;
    change({ points: [...points, place] });
  }

  function move(i, place) {
    if (asleep) return;
    change({ points: get("points").map((each, j) => (j === i ? place.map(within) : each)) });
  }

  function remove(i) {
    const points = get("points");
    if (asleep || points.length <= LEAST) return;
    const focused = dots[i]?.element === document.activeElement;
    picked = Math.min(i, points.length - 2);
    change({ points: points.filter((_, j) => j !== i) });
    if (focused) dots[picked].element.focus({ preventScroll: true });
  }

  function resize(n) {
    const points = get("points");
    const more = scattered(get("seed"), MOST).slice(points.length);
    picked = n - 1;
    change({ points: [...points, ...more].slice(0, n) });
  }

  function placeOf({ clientX, clientY }) {
    const { left, top } = picture.getBoundingClientRect();
    return [(clientX - left - MARGIN) / side, 1 - (clientY - top - MARGIN) / side].map(within);
  }

  /** Something that is dragged, or moved by keys. */
  function dotOf(i) {
    const disc = svg("circle", { class: "weight" });
    const label = svg("text", { "aria-hidden": "true" });
    const element = svg(
      "g",
      {
        ...{ class: "point", tabindex: asleep ? -1 : 0, role: "button" },
        "aria-roledescription": tell("movable"),
        "data-lm-suppress-shortcuts": "true",
      },
      ...[svg("circle", { class: "reach", r: 15 }), disc, svg("circle", { class: "dot", r: 5.5 }), label],
    );
    let held = null; // from the pointer to the middle
    const here = () => get("points")[i];
    element.addEventListener("focus", () => {
      picked = i;
      drawControls();
    });
    element.addEventListener("pointerdown", (event) => {
      if (event.button || asleep) return;
      const [x, y] = placeOf(event);
      held = [here()[0] - x, here()[1] - y];
      element.setPointerCapture(event.pointerId);
      element.focus({ preventScroll: true });
      event.preventDefault(); // no text is selected
    });
    // Or the page scrolls under the finger; touch-action is not obeyed inside an SVG.
    element.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    element.addEventListener("pointermove", (event) => {
      if (!held) return;
      const [x, y] = placeOf(event);
      const next = [x + held[0], y + held[1]].map(within);
      if (!same(next, here())) move(i, next);
    });
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
      element.addEventListener(end, () => (held = null));
    }
    element.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const way = ARROWS[event.key];
      if (way) {
        const step = event.shiftKey ? STRIDE : NUDGE;
        move(i, [here()[0] + step * way[0], here()[1] + step * way[1]]);
      } else if (event.key === "Delete" || event.key === "Backspace") remove(i);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return { element, disc, label };
  }

  // ------------------------------------------------------------------ the picture

  const ground = svg("rect", { class: "ground", x: MARGIN, y: MARGIN });
  const guides = svg("path", { class: "guides" });
  const right = svg("path", { class: "right" });
  const rest = svg("path", { class: "rest" });
  const way = svg("path", { class: "way" });
  const now = svg("path", { class: "now" });
  const dots = [];
  const crowd = svg("g");
  const picture = svg(
    "svg",
    { class: "heed-pointer-picture", role: "group", "aria-label": tell("plane") },
    ...[ground, guides, right, rest, way, now, crowd],
  );
  picture.addEventListener("click", (event) => {
    if (!event.target.closest(".point")) add(placeOf(event));
  });
  const box = h("div", { class: "heed-pointer-box" }, picture);
  const end = h("span", { class: "heed-pointer-end", title: tell("end.help") });
  const keys = ["way", "rest", "right"].map((kind) => {
    const text = h("span", null, tell(`key.${kind}`));
    return [kind, h("li", { class: kind }, h("i", { "aria-hidden": "true" }), text), text];
  });
  const legend = h("ul", { class: "heed-pointer-legend" }, keys.map(([, element]) => element));

  // ------------------------------------------------------------------ what is set

  const which = choiceOf({
    label: tell("choice"),
    options: (get("choices") ?? []).map(({ label, note }, value) => ({ value, label, help: note })),
    value: get("choice"),
    onInput: (choice) => change({ choice }),
  });
  const note = h("p", { class: "heed-note" });
  const play = button({ label: tell("play"), onPress: () => (playing ? pause() : start()) });
  const step = slider({
    label: tell("steps"),
    ...{ min: 1, max: MOST + 1, step: 1, value: get("step") },
    format: (value) => tell("steps.of", { step: value, steps: last() }),
    onInput(value) {
      pause();
      look({ step: value });
    },
  });
  const count = slider({
    label: tell("count"),
    ...{ min: LEAST, max: MOST, step: 1, value: get("points").length },
    onInput: resize,
  });
  const another = button({
    label: tell("another"),
    onPress() {
      const seed = (get("seed") + 1) % 2 ** 32;
      change({ seed, points: scattered(seed, get("points").length) });
    },
  });
  const more = button({
    label: tell("add"),
    quiet: true,
    onPress: () => add(scattered(get("seed"), MOST)[get("points").length]),
  });
  const less = button({ label: tell("remove"), quiet: true, onPress: () => remove(picked) });
  const reset = button({
    label: tell("reset"),
    quiet: true,
    onPress() {
      const { step: from, ...others } = first;
      picked = first.points.length - 1;
      look({ step: from, seed: first.seed });
      change(others);
    },
  });
  const masked = toggle({
    label: tell("masked"),
    value: get("masked"),
    onInput: (value) => change({ masked: value }),
  });
  const rule = h("p", { class: "heed-help" });
  const width = slider({
    label: tell("width"),
    ...{ min: 1, max: WIDEST, step: 1, value: get("width") },
    format: (value) => (value === 1 ? tell("width.one") : String(value)),
    onInput: (value) => change({ width: value }),
  });
  const best = toggle({
    label: tell("best"),
    value: showing,
    onInput(value) {
      showing = value;
      draw();
    },
  });

  // ------------------------------------------------------------------ what it says

  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const verdict = h("p", { class: "heed-verdict" });
  const order = h("p", { class: "heed-note heed-pointer-order" });
  const beyond = h("p", { class: "heed-note heed-pointer-beyond" });
  const hint = h("p", { class: "heed-note" }, tell("hint"));
  const full = h("p", { class: "heed-note" }, tell("full", { most: MOST }));
  const status = h("p", { class: "heed-status", role: "status" });
  const caption = h("caption", null);
  const rows = h("tbody", null);
  const heads = ["key", "place", "weight", "when"];
  const numbers = h(
    "details",
    { class: "heed-numbers" },
    h("summary", null, tell("numbers.open")),
    h(
      "div",
      { class: "heed-scroll" },
      h(
        "table",
        null,
        caption,
        h("thead", null, h("tr", null, heads.map((name) => h("th", { scope: "col" }, tell(`number.${name}`))))),
        rows,
      ),
    ),
  );
  numbers.addEventListener("toggle", () => draw());
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-pointer" },
      which.element,
      note,
      h(
        "div",
        { class: "heed-pointer-two" },
        h(
          "div",
          { class: "heed-pointer-left" },
          box,
          h("div", { class: "heed-pointer-foot" }, end, legend),
          group(tell("count"), count.element, another.element),
          h("div", { class: "heed-pointer-buttons" }, more.element, less.element, reset.element),
          full,
        ),
        h(
          "div",
          { class: "heed-pointer-right" },
          h("div", { class: "heed-pointer-time" }, play.element, step.element),
          says,
          verdict,
          order,
          beyond,
          h("div", { class: "heed-pointer-rule" }, masked.element, rule),
          width.element,
          best.element,
        ),
      ),
      hint,
      status,
      numbers,
    ),
  );
  for (const each of [count, another, more, less, reset, masked, width]) each.element.hidden = asleep;
  hint.hidden = rule.hidden = asleep;
  which.disabled = asleep;

  // ------------------------------------------------------------------ drawing

  /** The answer, if it is one to as many points as there are now. */
  function found() {
    const answer = get("answer");
    const fits = answer?.weights && answer.asked?.points?.length === get("points").length;
    return fits ? answer : null;
  }

  function last() {
    return found()?.weights.length ?? get("step");
  }

  function stepNow() {
    return Math.max(1, Math.min(get("step"), last()));
  }

  function draw() {
    el.firstChild.setAttribute("aria-busy", String(expecting(model, ASKED)));
    const answer = found();
    const failed = Boolean(get("answer")?.message);
    setText(status, failed ? tell("failed") : "");
    status.hidden = !failed;
    drawControls();
    if (!side) return;
    drawPoints(answer);
    drawWays(answer);
    if (answer) drawWords(answer);
    if (numbers.open && answer) list(answer);
    clearTimeout(timer);
    timer = setTimeout(() => setText(says, spoken()), says.textContent ? THROTTLE : 0);
  }

  function drawPoints(answer) {
    const points = get("points");
    while (dots.length < points.length) dots.push(dotOf(dots.length));
    dots.forEach(({ element }, i) => {
      if (i >= points.length) element.remove();
      else if (!element.parentNode) crowd.append(element);
    });
    const { weights, been, on, to } = moment(answer);
    points.forEach((point, i) => {
      const { element, disc, label } = dots[i];
      const weight = weights?.[i + 1] ?? 0;
      const [x, y] = at(point);
      setAttribute(element, "transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
      const kinds = ["point", been.has(i) && "been", on === i && "on", to === i && "to"];
      setAttribute(element, "class", kinds.filter(Boolean).join(" "));
      setAttribute(disc, "r", (DISC * Math.sqrt(weight)).toFixed(1));
      setText(label, weight >= 0.005 ? `${i + 1}: ${share(weight)}` : String(i + 1));
      const left = point[0] > 0.8;
      setAttribute(label, "text-anchor", left ? "end" : "start");
      setAttribute(label, "x", left ? -9 : 9);
      setAttribute(label, "y", point[1] > 0.93 ? 15 : -8);
      const [px, py] = point.map((value) => value.toFixed(2));
      const told = tell("at", { point: i + 1, x: px, y: py, weight: share(weight) });
      setAttribute(element, "aria-label", been.has(i) ? `${told} ${tell("at.been")}` : told);
    });
    const weight = weights?.[0] ?? 0;
    setText(end, tell("end", { weight: share(weight) }));
    end.style.setProperty("--weight", weight.toFixed(3));
    end.classList.toggle("to", to === -1);
  }

  /** What there is to see at this step: where it stands, where it points (−1 is ⇐), where it was. */
  function moment(answer) {
    if (!answer) return { weights: null, been: new Set(), on: null, to: null };
    const t = stepNow();
    const to = t <= answer.order.length ? answer.order[t - 1] : -1;
    return {
      weights: answer.weights[t - 1],
      been: new Set(answer.order.slice(0, t - 1)),
      on: t > 1 ? answer.order[t - 2] : null,
      to,
    };
  }

  function drawWays(answer) {
    const points = get("points");
    const path = (list, closed) => (list.length > 1 ? `${through(list.map((i) => at(points[i])))}${closed ? "Z" : ""}` : "");
    const ring = answer && answer.task !== "sort";
    const asks = own().task;
    setAttribute(right, "d", answer && showing ? path(answer.right, ring) : "");
    setAttribute(
      guides,
      "d",
      asks === "sort" ? points.map(([x, y]) => `M${across(x).toFixed(1)} ${down(y).toFixed(1)}V${down(0)}`).join("") : "",
    );
    if (!answer) {
      for (const each of [rest, way, now]) setAttribute(each, "d", "");
      return;
    }
    const t = stepNow();
    const whole = ring && answer.finished ? [...answer.order, answer.order[0]] : answer.order;
    const stops = whole.filter((i) => i !== undefined);
    setAttribute(way, "d", path(stops.slice(0, Math.max(0, t - 1)), false));
    setAttribute(rest, "d", path(stops.slice(t - 1), false));
    const leg = stops.slice(Math.max(0, t - 2), t);
    setAttribute(now, "d", t > 1 && leg.length === 2 ? arrow(...leg.map((i) => at(points[i]))) : "");
  }

  function drawWords(answer) {
    const n = get("points").length;
    setText(verdict, judgement(answer, n));
    verdict.classList.toggle("heed-right", answer.alike);
    verdict.classList.toggle("heed-wrong", !answer.valid);
    setText(order, tell("order", { order: named(answer) }));
    const [, , text] = keys.find(([kind]) => kind === "right");
    setText(text, tell(`key.right.${answer.exact ? answer.task : "good"}`));
    for (const [kind, element] of keys) element.hidden = kind === "right" && !showing;
  }

  function list(answer) {
    const t = stepNow();
    const { weights } = moment(answer);
    const place = (point) => point.map((value) => value.toFixed(3)).join(", ");
    const when = (i) => answer.order.flatMap((each, k) => (each === i ? [k + 1] : [])).join(", ") || "–";
    const told = [
      ["⇐", "–", number(weights[0]), answer.finished ? answer.weights.length : "–"],
      ...get("points").map((point, i) => [i + 1, place(point), number(weights[i + 1]), when(i)]),
    ];
    setText(caption, tell("numbers", { step: t }));
    if (same(told, listed)) return;
    listed = told;
    replace(
      rows,
      told.map(([name, ...cells]) =>
        h("tr", null, h("th", { scope: "row" }, name), cells.map((cell) => h("td", null, cell))),
      ),
    );
  }

  function drawControls() {
    const points = get("points");
    const { task, note: told, least, most } = own();
    const n = points.length;
    which.value = get("choice");
    masked.value = get("masked");
    width.value = get("width");
    count.value = n;
    step.max = last();
    step.value = stepNow();
    more.disabled = n >= MOST;
    less.disabled = n <= LEAST;
    less.label = tell("remove", { point: Math.min(picked, n - 1) + 1 });
    reset.disabled = SETTINGS.every((name) => same(get(name), first[name]));
    full.hidden = n < MOST || asleep;
    setText(rule, tell(`masked.${task}`));
    const about = [told, task === "sort" ? tell("reads.sort") : ""].filter(Boolean).join(" ");
    setText(note, about);
    note.hidden = !about;
    const strange = Boolean(most) && (n < least || n > most);
    setText(beyond, strange ? tell(`beyond.${n > most ? "more" : "fewer"}`, { n, least, most }) : "");
    beyond.hidden = !strange;
  }

  // ------------------------------------------------------------------ words

  const keyName = (key) => (key ? tell("point", { point: key }) : "⇐");

  function spoken() {
    const answer = found();
    if (!answer) return says.textContent;
    const { weights, on, to } = moment(answer);
    const key = to + 1;
    const given = { step: stepNow(), to: keyName(key), weight: share(weights[key]) };
    const told = on === null ? tell("says.first", given) : tell("says", { ...given, from: keyName(on + 1) });
    const others = loudest(
      weights.map((weight, i) => (i === key ? 0 : weight ?? 0)),
      { least: SEEN, most: 2 },
    ).map(([i, weight]) => tell("says.share", { point: keyName(i), weight: share(weight) }));
    return `${told} ${others.length ? tell("says.next", { others: others.join(", ") }) : tell("says.sure")}`;
  }

  function judgement(answer, n) {
    const { order: list, task, fault } = answer;
    const corners = answer.right.length;
    if (task === "hull" && corners < 3) return tell("flat");
    if (fault) {
      const twice = list.find((i, k) => list.indexOf(i) < k);
      const left = get("points").flatMap((_, i) => (list.includes(i) ? [] : [i + 1]));
      return tell(`fault.${fault}`, {
        ...{ point: twice + 1, points: left.join(", "), steps: list.length, corners: list.length },
      });
    }
    if (task === "tour") {
      const [length, shortest, ratio] = ["length", "best", "ratio"].map((name) => number(answer[name]));
      const kind = !answer.exact ? "good" : answer.alike ? "best" : "longer";
      return tell(`tour.${kind}`, { length, best: shortest, ratio, n });
    }
    if (task === "sort") return tell(answer.alike ? "sort.right" : "sort.wrong", { n, falls: answer.falls });
    const covered = `${(100 * answer.covered).toFixed(1)} %`;
    return tell(answer.alike ? "hull.right" : "hull.other", { corners, own: list.length, covered });
  }

  // ------------------------------------------------------------------ time

  function start() {
    if (stepNow() >= last()) look({ step: 1 });
    playing = setInterval(() => {
      if (stepNow() >= last()) pause();
      else look({ step: stepNow() + 1 });
    }, BEAT);
    play.label = tell("stop");
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.label = tell("play");
  }

  // ------------------------------------------------------------------ life

  const stopFitting = fitted(box, (wide) => {
    const whole = Math.min(wide, LARGEST);
    side = whole - 2 * MARGIN;
    picture.style.width = picture.style.height = `${whole}px`;
    for (const name of ["width", "height"]) ground.setAttribute(name, side);
    draw();
  });
  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    pause();
    stopFitting();
    clearTimeout(timer);
    ask.stop();
  };
}

function number(value) {
  return Number.isFinite(value) ? value.toFixed(3) : "–";
}

/** A line from a to b with a head before b's dot. */
function arrow([ax, ay], [bx, by]) {
  const long = Math.hypot(bx - ax, by - ay);
  if (long < 1) return "";
  const [u, v] = [(bx - ax) / long, (by - ay) / long];
  const tip = Math.max(long - 8, long / 2);
  const spot = (along, beside) => `${(ax + u * along - v * beside).toFixed(1)} ${(ay + v * along + u * beside).toFixed(1)}`;
  return `M${spot(0, 0)}L${spot(tip, 0)}M${spot(tip - 9, 5)}L${spot(tip, 0)}L${spot(tip - 9, -5)}`;
}
