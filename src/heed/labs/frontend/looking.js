// The first picture of the book. Looking: the eye moves with the pointer or the arrow keys, and what
// is far from it is coarse. Hiding: a patch lies behind a box, the others say what it must be.
//
// Settings: mode, x, y, half, hidden, temperature, mirror. Reads besides: sight, answer, strings.

import {answered, asker} from "./asking.js";
import {button, choice, group, slider, toggle} from "./controls.js";
import {h, replace, setText} from "./dom.js";
import {fovea, pyramid, shareSeen} from "./fovea.js";
import {loudest} from "./numbers.js";
import {content, unpacked} from "./patches.js";
import {sayer, share} from "./say.js";
import {svg} from "./svg.js";

const ASKED = ["hidden", "temperature", "mirror"];
const WATCHED = [...ASKED, "mode", "x", "y", "half", "answer"];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const [STEP, LEAP] = [4, 20]; // pixels that an arrow key moves the eye
const TOLD = 5; // patches that are named
const SEEN = 0.05; // from this weight on a patch is outlined
const QUIET = 250; // milliseconds until a look is told on
const [COOLEST, HOTTEST] = [-4, 1]; // of the temperature, powers of ten

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "looking");
  const ask = asker(model);
  const sight = model.get("sight");
  const { rows, columns, patch, ring } = sight;
  const across = columns / patch;
  const picture = unpacked(sight);
  const levels = pyramid(picture, sight);
  let timer = 0;

  // A setting that no answer depends on.
  function set(changes) {
    model.set(changes);
    clearTimeout(timer);
    timer = setTimeout(() => model.save_changes(), QUIET);
  }

  // ------------------------------------------------------------------ what stands there

  const mode = choice({
    label: tell("mode"),
    options: ["look", "hide"].map((value) => ({ value, label: tell(`mode.${value}`) })),
    value: model.get("mode"),
    onInput: (value) => set({ mode: value }),
  });
  const canvas = h("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const marks = svg("svg", { viewBox: `0 0 ${columns} ${rows}`, "aria-hidden": "true" });
  const stage = h(
    "div",
    {
      class: "heed-looking-stage",
      tabindex: 0,
      role: "application",
      "aria-roledescription": tell("stage.role"),
    },
    canvas,
    marks,
  );
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const half = slider({
    label: tell("half"),
    ...{ min: 4, max: 160, step: 1, value: model.get("half") },
    format: (value) => tell("half.value", { value: Math.round(value) }),
    help: tell("half.help"),
    onInput: (value) => set({ half: value }),
  });
  const temperature = slider({
    label: tell("temperature"),
    ...{ min: COOLEST, max: HOTTEST, step: 0.1, value: Math.log10(model.get("temperature")) },
    format: (power) => String(Number((10 ** power).toPrecision(2))),
    help: tell("temperature.help"),
    onInput: (power) => ask({ temperature: Number((10 ** power).toPrecision(4)) }),
  });
  const mirror = toggle({
    label: tell("mirror"),
    value: model.get("mirror"),
    help: tell("mirror.help"),
    onInput: (value) => ask({ mirror: value }),
  });
  const [truth, guess] = ["truth", "guess"].map((name) => {
    const small = h("canvas", { width: patch, height: patch, role: "img", "aria-label": tell(name) });
    const figure = h("figure", null, small, h("figcaption", null, tell(name)));
    return { small, figure };
  });
  const errors = h("p", { class: "heed-looking-errors" });
  const body = h("tbody", null);
  const table = h(
    "table",
    { class: "heed-looking-table" },
    h("caption", null, tell("table")),
    h(
      "thead",
      null,
      h("tr", null, ["place.head", "weight"].map((key) => h("th", { scope: "col" }, tell(key)))),
    ),
    body,
  );
  const example = (name, number) =>
    button({ label: tell(`try.${name}`), quiet: true, onPress: () => ask({ hidden: number }) });
  const tries = group(
    tell("try"),
    h("span", { class: "heed-examples-word", "aria-hidden": "true" }, tell("try")),
    ...[
      example("ear", 2 * across + 6),
      example("jumper", 7 * across + 7),
      example("tiles", 10 * across + 6),
      example("blanket", 6 * across + 11),
      example("moon", 1 * across + 3),
      example("apple", 10 * across + 12),
    ].map((each) => each.element),
  );
  tries.classList.add("heed-examples");
  const hiding = h(
    "div",
    { class: "heed-looking-side" },
    h("div", { class: "heed-looking-two" }, truth.figure, guess.figure),
    errors,
    h("div", { class: "heed-scroll" }, table),
  );
  const steering = group(tell("steering"), half.element, temperature.element, mirror.element);
  const hint = h("p", { class: "heed-help" });
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-looking" },
      mode.element,
      tries,
      h(
        "div",
        { class: "heed-looking-both" },
        h("div", { class: "heed-looking-left" }, stage, says, hint),
        hiding,
      ),
      steering,
    ),
  );

  // ------------------------------------------------------------------ what a reader does

  const within = (value, most) => Math.min(Math.max(value, 0), most);
  const looking = () => model.get("mode") === "look";

  function placeOf({ clientX, clientY }) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [
      within(((clientX - left) / width) * columns, columns),
      within(((clientY - top) / height) * rows, rows),
    ];
  }

  function lookAt([x, y]) {
    set({ x: Math.round(10 * x) / 10, y: Math.round(10 * y) / 10 });
  }

  const numberAt = ([x, y]) =>
    Math.min(Math.floor(y / patch), rows / patch - 1) * across +
    Math.min(Math.floor(x / patch), across - 1);

  // A mouse needs no button to look; a finger drags.
  stage.addEventListener("pointermove", (event) => {
    if (looking() && (event.pointerType === "mouse" || event.buttons)) lookAt(placeOf(event));
  });
  stage.addEventListener("pointerdown", (event) => {
    if (event.button || !looking()) return;
    stage.setPointerCapture(event.pointerId);
    lookAt(placeOf(event));
  });
  stage.addEventListener("click", (event) => {
    if (!looking()) ask({ hidden: numberAt(placeOf(event)) });
  });
  stage.addEventListener("keydown", (event) => {
    const way = ARROWS[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (looking()) {
      const step = event.shiftKey ? LEAP : STEP;
      lookAt([
        within(model.get("x") + step * way[0], columns),
        within(model.get("y") + step * way[1], rows),
      ]);
      return;
    }
    const hidden = model.get("hidden");
    const [row, column] = [Math.floor(hidden / across) + way[1], (hidden % across) + way[0]];
    if (row < 0 || column < 0 || row >= rows / patch || column >= across) return;
    ask({ hidden: row * across + column });
  });

  // ------------------------------------------------------------------ drawing

  const pen = canvas.getContext("2d");
  let frame = 0;

  function paint(on, numbers, wide, high) {
    const image = on.createImageData(wide, high);
    const area = wide * high;
    for (let i = 0; i < area; i += 1) {
      for (let c = 0; c < 3; c += 1) image.data[4 * i + c] = Math.round(255 * numbers[c * area + i]);
      image.data[4 * i + 3] = 255;
    }
    on.putImageData(image, 0, 0);
  }

  function draw() {
    mode.value = model.get("mode");
    half.value = model.get("half");
    temperature.value = Math.log10(model.get("temperature"));
    mirror.value = model.get("mirror");
    const look = looking();
    half.element.hidden = !look;
    for (const each of [temperature.element, mirror.element, hiding, tries]) each.hidden = look;
    stage.classList.toggle("heed-is-looking", look);
    stage.setAttribute("aria-label", tell(look ? "stage.look" : "stage.hide"));
    setText(hint, tell(look ? "hint.look" : "hint.hide"));
    if (look) drawLook();
    else if (answered(model, ASKED)) drawHidden();
  }

  // Many moves of the pointer, one picture a frame.
  function drawLook() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (!looking()) return;
      const [x, y, e2] = ["x", "y", "half"].map((name) => model.get(name));
      const at = { rows, columns, x, y, half: e2 };
      paint(pen, fovea(levels, at), columns, rows);
      replace(
        marks,
        svg("circle", { class: "heed-looking-eye", cx: x, cy: y, r: e2 }),
        svg("path", { class: "heed-looking-eye", d: `M${x - 3} ${y}h6M${x} ${y - 3}v6` }),
      );
      const part = (100 * shareSeen(at)).toFixed(0);
      setText(says, tell("says.look", { x: x.toFixed(0), y: y.toFixed(0), part }));
    });
  }

  function drawHidden() {
    const { weights, mirrored, guess: told, error, even } = model.get("answer");
    const hidden = model.get("hidden");
    const both = weights.map((weight, i) => weight + mirrored[i]);
    paint(pen, picture, columns, rows);
    const corner = (i) => [(i % across) * patch, Math.floor(i / across) * patch];
    both.forEach((weight, i) => {
      const clear = Math.min(1, 2 * Math.sqrt(weight));
      pen.fillStyle = `rgba(128, 128, 128, ${0.62 * (1 - clear)})`;
      pen.fillRect(...corner(i), patch, patch);
    });
    const [left, top] = corner(hidden);
    pen.fillStyle = "#26221f";
    pen.fillRect(left, top, patch, patch);
    const square = (i, kind) => {
      const [x, y] = corner(i);
      return svg("rect", { class: kind, x: x + 0.75, y: y + 0.75, width: patch - 1.5, height: patch - 1.5 });
    };
    const rim = { x: left - ring, y: top - ring, width: patch + 2 * ring, height: patch + 2 * ring };
    replace(
      marks,
      ...loudest(both, { least: SEEN, most: both.length }).map(([i]) => square(i, "heed-looking-told")),
      svg("rect", { class: "heed-looking-ring", ...rim }),
      square(hidden, "heed-looking-box"),
      svg("text", { x: left + patch / 2, y: top + patch / 2 + 5 }, "?"),
    );
    paint(truth.small.getContext("2d"), content(picture, sight, hidden), patch, patch);
    paint(guess.small.getContext("2d"), told, patch, patch);
    setText(errors, tell("errors", { error: error.toFixed(0), even: even.toFixed(0) }));
    const named = loudest([...weights, ...mirrored], { least: 0.005, most: TOLD });
    const place = (k) => {
      const i = k % weights.length;
      const at = { row: Math.floor(i / across) + 1, column: (i % across) + 1 };
      return tell(k < weights.length ? "place" : "place.mirrored", at);
    };
    replace(
      body,
      named.map(([k, weight]) =>
        h("tr", null, h("th", { scope: "row" }, place(k)), h("td", null, share(weight))),
      ),
    );
    const first = named.length ? tell("says.most", { place: place(named[0][0]), weight: share(named[0][1]) }) : tell("says.none");
    setText(
      says,
      `${tell("says.hide", { row: Math.floor(hidden / across) + 1, column: (hidden % across) + 1 })} ${first}`,
    );
  }

  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    ask.stop();
  };
}
