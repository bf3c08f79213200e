// The twins lab: pictures that nets draw from one z, which a reader moves in a plane; where a point
// of the chosen net's attended map looks; and γ, by which what was seen is added.
//
// Settings: seed, x, y, dial, choice, point. Reads besides: choices, answer, strings, asleep.

import {asker, expecting} from "./asking.js";
import {button, choice as choiceOf, group, slider, toggle} from "./controls.js";
import {h, replace, setAttribute, setProperty, setText} from "./dom.js";
import {largest, loudest} from "./numbers.js";
import {sayer, share} from "./say.js";
import {same} from "./store.js";
import {LEFT, RIGHT, SIDE, fogOf, hueName} from "./twins_plane.js";

const SETTINGS = ["seed", "x", "y", "dial", "choice", "point"];
const WATCHED = [...SETTINGS, "answer", "choices"];
const REACH = 2; // of the plane, to each side
const LOUDEST = 1.5; // of what γ has learnt
const AREA = SIDE * SIDE;
const GREY = 128;
const FAR = 4; // places that an arrow key with Shift goes
const THROTTLE = 400; // before a point is spoken of
const NUMBERS = 8; // places in the table
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "twins");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const get = (name) => model.get(name);
  const choices = () => get("choices") ?? [];
  const own = () => choices()[get("choice")] ?? {};
  const first = Object.fromEntries(SETTINGS.map((name) => [name, get(name)]));

  let seen = { nets: [], look: null, plain: null };
  let drawnCount = null;
  let showing = true; // the look, over the picture
  let listed = null; // what stands in the table
  let timer = 0;

  function send(settings) {
    ask(settings);
    draw();
  }

  // ------------------------------------------------------------------ the picture

  const paint = canvas("heed-twins-paint", { role: "img" });
  const veil = canvas("heed-twins-fog", { "aria-hidden": "true" });
  const spot = h("div", {
    class: "heed-twins-point",
    tabindex: 0,
    role: "button",
    "aria-roledescription": tell("movable"),
    on: { keydown: spotKey },
  });
  const stage = h("div", { class: "heed-twins-stage" }, paint, veil, spot);
  const shown = toggle({
    label: tell("show"),
    value: showing,
    onInput(value) {
      showing = value;
      draw();
    },
  });
  const legend = h("p", { class: "heed-note" });
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const status = h("p", { class: "heed-status", role: "status" });

  dragged(stage, spot, (across, down) => {
    const { side } = own();
    if (!side || asleep) return;
    send({ point: cell(down, side) * side + cell(across, side) });
  });

  function spotKey(event) {
    const way = arrow(event);
    const { side } = own();
    if (!way || !side || !seen.look) return;
    const step = event.shiftKey ? FAR : 1;
    const { point } = seen.look;
    const row = Math.max(0, Math.min(side - 1, Math.floor(at(point) / side) + step * way[1]));
    const column = Math.max(0, Math.min(side - 1, (at(point) % side) + step * way[0]));
    send({ point: row * side + column });
  }

  // Where the point is now: an answer about the last step may still be on its way.
  const at = (answeredAt) => (get("point") >= 0 ? Math.min(get("point"), own().side ** 2 - 1) : answeredAt);

  // ------------------------------------------------------------------ z

  const knob = h("div", {
    class: "heed-twins-knob",
    tabindex: 0,
    role: "button",
    "aria-roledescription": tell("movable"),
    on: {
      keydown(event) {
        const way = arrow(event);
        if (!way) return;
        const step = event.shiftKey ? 0.5 : 0.1;
        send({ x: within(get("x") + step * way[0]), y: within(get("y") - step * way[1]) });
      },
    },
  });
  const pad = h("div", { class: "heed-twins-pad" }, knob);
  const place = h("p", { class: "heed-note heed-twins-place" });
  dragged(pad, knob, (across, down) => {
    if (asleep) return;
    send({ x: within(REACH * (2 * across - 1)), y: within(REACH * (1 - 2 * down)) });
  });
  const another = button({
    label: tell("another"),
    onPress: () => send({ seed: (get("seed") + 1) % 2 ** 32, x: 0, y: 0 }),
  });
  const reset = button({ label: tell("reset"), quiet: true, onPress: () => send({ ...first }) });

  // ------------------------------------------------------------------ the nets

  const thumbs = choices().map(() => canvas("heed-twins-thumb", { "aria-hidden": "true" }));
  const which = choiceOf({
    label: tell("choice"),
    options: choices().map(({ label, note }, value) => ({
      value,
      label: [thumbs[value], h("span", null, label)],
      help: note,
    })),
    value: get("choice"),
    onInput: (value) => send({ choice: value }),
  });
  which.element.classList.add("heed-twins-nets");
  const note = h("p", { class: "heed-note" });
  const verdicts = h("ul", { class: "heed-twins-verdicts", "aria-label": tell("verdicts") });
  const gamma = slider({
    label: tell("gamma"),
    ...{ min: 0, max: LOUDEST, step: 0.05, value: get("dial") },
    format: loud,
    onInput: (dial) => send({ dial }),
  });
  const change = canvas("heed-twins-thumb", { role: "img" });
  const changed = h("p", { class: "heed-note" });
  const added = h("div", { class: "heed-twins-added" }, change, changed);
  const from = choiceOf({
    label: tell("from"),
    options: [LEFT, RIGHT, 0].map((value) => ({ value, label: tell(`from.${-value}`) })),
    value: 0,
    onInput: (value) => send({ point: value || (seen.look?.point ?? 0) }),
  });
  const bare = h("p", { class: "heed-note" }, tell("bare"));

  const rows = h("tbody", null);
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
        h("caption", null, tell("numbers", { count: NUMBERS })),
        h(
          "thead",
          null,
          h("tr", null, ["place", "weight"].map((key) => h("th", { scope: "col" }, tell(key)))),
        ),
        rows,
      ),
    ),
  );
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-twins" },
      h(
        "div",
        { class: "heed-twins-two" },
        h("div", { class: "heed-twins-left" }, stage, from.element, says, shown.element, legend),
        h(
          "div",
          { class: "heed-twins-right" },
          h(
            "div",
            { class: "heed-twins-move" },
            h("div", null, h("p", { class: "heed-twins-name" }, tell("plane")), pad),
            h("div", null, place, another.element, reset.element),
          ),
          which.element,
          note,
          verdicts,
          bare,
          gamma.element,
          added,
        ),
      ),
      status,
      numbers,
    ),
  );
  for (const each of [pad.parentElement, another.element, reset.element, gamma.element, from.element]) {
    each.hidden = asleep;
  }
  which.disabled = asleep;
  spot.tabIndex = asleep ? -1 : 0;

  // ------------------------------------------------------------------ drawing

  function draw() {
    el.firstChild.setAttribute("aria-busy", String(expecting(model, SETTINGS)));
    const answer = get("answer") ?? {};
    setText(status, answer.message ? tell("failed") : "");
    status.hidden = !answer.message;
    if (answer.count !== drawnCount && answer.nets) {
      drawnCount = answer.count;
      seen = { ...answer, pictures: answer.nets.map(({ picture }) => unpacked(picture)) };
      drawNets();
    }
    drawPicture();
    drawControls();
  }

  // All that an answer brings and no toggle changes.
  function drawNets() {
    seen.pictures.forEach((picture, i) => show(thumbs[i], colours(picture)));
    replace(
      verdicts,
      seen.nets.map((net, i) =>
        h(
          "li",
          { class: net.twins ? "heed-right" : null },
          h("b", null, choices()[i].label),
          " ",
          verdict(net),
        ),
      ),
    );
  }

  // The picture and its look are of the net that was chosen when they were asked for.
  function drawPicture() {
    const chosen = get("answer")?.asked?.choice ?? get("choice");
    const picture = seen.pictures?.[chosen];
    if (!picture) return;
    show(paint, colours(picture));
    setAttribute(paint, "aria-label", tell("picture", { name: choices()[chosen].label, read: verdict(seen.nets[chosen]) }));
    const { look, plain } = seen;
    const { side } = choices()[chosen];
    veil.hidden = spot.hidden = !look || !side;
    veil.hidden ||= !showing;
    if (look && side) {
      const size = Math.round(Math.sqrt(look.weights.length));
      show(veil, { size, pixel: grey(fogOf(look.weights)) });
      const point = at(look.point);
      setProperty(spot, "--row", Math.floor(point / side));
      setProperty(spot, "--column", point % side);
      setProperty(spot, "--across", side);
      setAttribute(spot, "aria-label", tell("spot", { place: placeName(point, side) }));
      const most = largest(look.weights);
      const weight = look.weights[most] ?? 0;
      const times = (weight * look.weights.length).toFixed(0);
      setText(legend, tell("legend", { weight: share(weight), times }));
      list(look, size);
      if (plain) drawAdded(picture, unpacked(plain));
    }
    clearTimeout(timer);
    timer = setTimeout(() => setText(says, spoken(look, side)), says.textContent ? THROTTLE : 0);
  }

  // What γ o has done to each pixel: grey where nothing, lighter or darker where more or less.
  function drawAdded(picture, plain) {
    const far = picture.map((value, i) => Math.abs(value - plain[i])).reduce((a, b) => a + b, 0);
    const pixel = (i) => [0, 1, 2].map((c) => GREY + (picture[c * AREA + i] - plain[c * AREA + i]) / 2);
    show(change, { size: SIDE, pixel: (i) => [...pixel(i), 255] });
    const by = (far / picture.length).toFixed(1);
    setAttribute(change, "aria-label", tell("added.picture"));
    setText(changed, tell(get("dial") ? "added" : "added.none", { by }));
  }

  function list({ weights }, size) {
    const found = loudest(weights.map((weight) => weight ?? 0), { least: 0, most: NUMBERS });
    const told = found.map(([i, weight]) => [placeName(i, size), weight.toFixed(3)]);
    if (same(told, listed)) return;
    listed = told;
    replace(
      rows,
      told.map(([name, weight]) => h("tr", null, h("th", { scope: "row" }, name), h("td", null, weight))),
    );
  }

  function drawControls() {
    const attends = Boolean(own().side);
    which.value = get("choice");
    gamma.value = get("dial");
    const point = get("point");
    from.value = point < 0 ? point : 0;
    setText(note, own().note ?? "");
    note.hidden = !own().note;
    bare.hidden = attends;
    gamma.element.hidden = asleep || !attends;
    from.element.hidden = asleep || !attends;
    added.hidden = shown.element.hidden = legend.hidden = numbers.hidden = says.hidden = !attends;
    reset.disabled = SETTINGS.every((name) => same(get(name), first[name]));
    const [x, y] = [get("x"), get("y")];
    setProperty(knob, "--x", (x + REACH) / (2 * REACH));
    setProperty(knob, "--y", (REACH - y) / (2 * REACH));
    setAttribute(knob, "aria-label", tell("knob", { x: decimals(x), y: decimals(y) }));
    setText(place, tell("place.z", { seed: get("seed"), x: decimals(x), y: decimals(y) }));
  }

  function loud(dial) {
    const value = own().gamma;
    if (value === null || value === undefined) return "";
    const times = decimals(dial * value);
    if (!dial) return tell("gamma.zero");
    return dial === 1 ? tell("gamma.learnt", { value: times }) : times;
  }

  // ------------------------------------------------------------------ words

  function verdict({ things: [left, right], twins, same_hue: hue, same_shape: shape }) {
    if (!left.clear || !right.clear) {
      return tell(`blot.${right.clear ? "left" : left.clear ? "right" : "both"}`);
    }
    const names = { left: thing(left), right: thing(right) };
    if (twins) return tell("agree", names);
    return tell(`apart.${hue ? "shape" : shape ? "hue" : "both"}`, names);
  }

  function thing({ shape, hue }) {
    return tell(`thing.${shape}`, { hue: tell(`hue.${hueName(hue)}`) });
  }

  function placeName(place, side) {
    return tell("place.at", { row: Math.floor(place / side) + 1, column: (place % side) + 1 });
  }

  function spoken(look, side) {
    if (!look) return "";
    const size = Math.round(Math.sqrt(look.weights.length));
    const most = largest(look.weights);
    const told = tell("says", {
      point: placeName(look.point, side),
      place: placeName(most, size),
      weight: share(look.weights[most] ?? 0),
      left: share(look.falls[0] ?? 0),
      right: share(look.falls[1] ?? 0),
      evenLeft: share(look.even[0]),
      evenRight: share(look.even[1]),
    });
    return get("dial") ? told : `${told} ${tell("says.zero")}`;
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

// ---------------------------------------------------------------------- pixels

function canvas(kind, more) {
  return h("canvas", { class: kind, width: SIDE, height: SIDE, ...more });
}

function unpacked(content) {
  return Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
}

function colours(picture) {
  const pixel = (i) => [picture[i], picture[AREA + i], picture[2 * AREA + i], 255];
  return { size: SIDE, pixel };
}

function grey(thick) {
  return (i) => [GREY, GREY, GREY, 255 * thick[i]];
}

function show(element, { size, pixel }) {
  if (element.width !== size) element.width = element.height = size;
  const pen = element.getContext("2d");
  const image = pen.createImageData(size, size);
  for (let i = 0; i < size * size; i += 1) image.data.set(pixel(i).map(Math.round), 4 * i);
  pen.putImageData(image, 0, 0);
}

// ---------------------------------------------------------------------- what is moved

/** A press anywhere on the ground, or a pull at the handle on it: move(across, down), from 0 to 1. A
 * finger on the ground may scroll the page; on the handle it pulls. */
function dragged(ground, handle, move) {
  let held = null; // from the pointer to the handle's middle
  let done = false; // the click that follows is of a press that was heard
  const tellOf = ({ clientX, clientY }, [dx, dy]) => {
    const { left, top, width, height } = ground.getBoundingClientRect();
    move(between((clientX + dx - left) / width), between((clientY + dy - top) / height));
  };
  ground.addEventListener("click", (event) => {
    if (!done && !handle.contains(event.target)) tellOf(event, [0, 0]);
    done = false;
  });
  ground.addEventListener("pointerdown", (event) => {
    const on = handle.contains(event.target);
    done = false;
    if (event.button || (!on && event.pointerType === "touch")) return;
    done = true;
    const { left, top, width, height } = handle.getBoundingClientRect();
    held = on ? [left + width / 2 - event.clientX, top + height / 2 - event.clientY] : [0, 0];
    ground.setPointerCapture(event.pointerId);
    if (!handle.hidden && handle.tabIndex >= 0) handle.focus({ preventScroll: true });
    event.preventDefault(); // no text is selected
    if (!on) tellOf(event, held);
  });
  ground.addEventListener("pointermove", (event) => held && tellOf(event, held));
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
    ground.addEventListener(end, () => (held = null));
  }
}

function arrow(event) {
  if (event.altKey || event.ctrlKey || event.metaKey || !ARROWS[event.key]) return null;
  event.preventDefault();
  event.stopPropagation();
  return ARROWS[event.key];
}

function between(part) {
  return Math.max(0, Math.min(1, part));
}

function cell(part, side) {
  return Math.min(side - 1, Math.floor(part * side));
}

function within(value) {
  return Math.round(100 * Math.max(-REACH, Math.min(REACH, value))) / 100;
}

function decimals(value) {
  const text = value.toFixed(2);
  return (Number(text) === 0 ? "0.00" : text).replace("-", "−");
}
