// The picture lab: up to three animals that a reader places, and what a model says of them, word by
// word. While a word is written a fog lies over the picture: it is thin where the model looks.
// Places can be closed, so that it cannot look there.
//
// Settings: animals, ground, horizon, choice, draw, hidden, word. Reads besides: choices, world,
// speech, answer, strings, asleep.

import {answered, asker, expecting} from "./asking.js";
import {button, choice as choiceOf, group, slider, toggle} from "./controls.js";
import {h, replace, setAttribute, setProperty, setText, unique} from "./dom.js";
import {wordLine} from "./lines.js";
import {largest} from "./numbers.js";
import {another, order, painted, silhouette, tidy} from "./picture_scene.js";
import {END} from "./remarks.js";
import {sayer, share} from "./say.js";
import {mulberry32} from "./steering.js";
import {same} from "./store.js";

const SCENE = ["animals", "ground", "horizon"];
const ASKED = [...SCENE, "choice", "draw", "hidden"];
const WATCHED = [...ASKED, "word", "answer"];
const BEAT = 750; // milliseconds from word to word while it plays
const THROTTLE = 400; // before a word is spoken of
const THICK = 0.9; // the fog where nobody looks; gone where half of the look goes to
const WRITTEN = 0.1; // smaller weights have no number on the picture
const SHUT = 0.1; // a gate below lets hardly anything through
const FAR = 4; // pixels that an arrow key with Shift goes
const ARROWS = {
  ArrowLeft: ["left", -1],
  ArrowRight: ["left", 1],
  ArrowUp: ["top", -1],
  ArrowDown: ["top", 1],
};
const LARGER = { "+": 1, "=": 1, "-": -1, "−": -1 };

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "picture");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const get = (name) => model.get(name);
  const world = get("world");
  const choices = get("choices") ?? [];
  const first = Object.fromEntries([...SCENE, "draw", "hidden"].map((name) => [name, get(name)]));
  const random = mulberry32(Math.floor(Math.random() * 2 ** 32));

  let seen = { words: [], weights: [], glimpses: [], gates: [], probability: [], boxes: [], remarks: [] };
  let drawnCount = null;
  let painting = ""; // the scene that stands on the canvas
  let selected = 0;
  let closing = false; // a click on the picture closes a place, and moves nobody
  let side = 8; // places a side
  let playing = 0;
  let timer = 0;

  // ------------------------------------------------------------------ what the reader does

  const animals = () => get("animals");
  const own = () => choices[get("choice")] ?? {};

  function send(settings) {
    ask(settings);
    draw();
  }

  function change(i, changes) {
    const moved = { ...animals()[i], ...changes };
    for (const way of ["top", "left"]) {
      moved[way] = Math.max(0, Math.min(world.canvas - moved.side, moved[way]));
    }
    send({ animals: animals().map((each, k) => (k === i ? moved : each)) });
  }

  // Around its middle.
  function resize(i, next) {
    const { side: now, top, left } = animals()[i];
    const away = Math.floor((now - next) / 2);
    change(i, { side: next, top: top + away, left: left + away });
  }

  function grow(i, by) {
    const next = world.sizes[world.sizes.indexOf(animals()[i].side) + by];
    if (next) resize(i, next);
  }

  function add() {
    const now = animals();
    if (now.length >= world.most) return;
    const free = world.colours.map((_, colour) => colour).filter(
      (colour) => world.grounds[get("ground")].shows[colour] && !now.some((each) => each.colour === colour),
    );
    const kinds = world.animals.map((_, kind) => kind).filter((kind) => !now.some((each) => each.animal === kind));
    const animal = kinds[0];
    const colour = free.find((each) => world.unseen[animal] !== each) ?? free[0] ?? 0;
    const size = world.sizes[2];
    const place = { top: world.canvas - size, left: world.canvas - size };
    const made = { animal, colour, drawing: 0, side: size, ...place, mirrored: false };
    selected = now.length;
    send({ animals: tidy([...now, made], world) });
  }

  function remove(i) {
    const left = animals().filter((_, k) => k !== i);
    selected = Math.max(0, Math.min(selected, left.length - 1));
    send({ animals: left });
    if (handles[selected] && left.length) handles[selected].element.focus();
    else more.element.focus();
  }

  function turnUp(options) {
    selected = 0;
    send({ ...another(random, world, options), hidden: [] });
  }

  const places = () => side * side;
  const hidden = () => get("hidden").filter((place) => place >= 0 && place < places());

  function close(place) {
    const now = hidden();
    const next = now.includes(place) ? now.filter((each) => each !== place) : [...now, place];
    if (next.length >= places()) return; // somewhere it must look
    send({ hidden: next.sort((a, b) => a - b) });
  }

  const last = () => seen.words.length - 1;
  const word = () => Math.min(get("word"), last());

  function goTo(t) {
    const to = Math.max(-1, Math.min(t, last()));
    if (to === get("word")) return;
    model.set({ word: to });
    model.save_changes();
  }

  function start() {
    if (word() >= last()) goTo(-1);
    goTo(word() + 1);
    playing = setInterval(() => {
      if (word() < last() && el.isConnected) return goTo(word() + 1);
      pause();
      goTo(-1);
    }, BEAT);
    play.label = tell("pause");
  }

  function pause() {
    clearInterval(playing);
    playing = 0;
    play.label = tell("play");
  }

  // ------------------------------------------------------------------ the picture

  const canvas = h("canvas", {
    class: "heed-scene-paint",
    role: "img",
    width: world.canvas,
    height: world.canvas,
  });
  const fog = h("div", { class: "heed-scene-fog", "aria-hidden": "true" });
  const stage = h("div", { class: "heed-scene-animals", role: "group", "aria-label": tell("animals") });
  const cells = h("div", {
    class: "heed-scene-cells",
    role: "group",
    "aria-label": tell("places"),
    on: { click: cellClicked, keydown: cellKey },
  });
  const picture = h("div", { class: "heed-scene" }, canvas, fog, stage, cells);
  const handles = [];

  function handle(i) {
    let held = null; // where the pointer was, and the animal then
    const element = h("div", {
      class: "heed-scene-animal",
      tabindex: 0,
      role: "button",
      "aria-roledescription": tell("movable"),
      on: {
        pointerdown(event) {
          if (event.button) return;
          const { top, left } = animals()[i];
          held = { x: event.clientX, y: event.clientY, top, left };
          element.setPointerCapture(event.pointerId);
          element.focus({ preventScroll: true });
          event.preventDefault();
          select(i);
        },
        pointermove(event) {
          if (!held) return;
          const pixel = picture.clientWidth / world.canvas;
          const at = {
            top: held.top + Math.round((event.clientY - held.y) / pixel),
            left: held.left + Math.round((event.clientX - held.x) / pixel),
          };
          const { top, left } = animals()[i];
          if (at.top !== top || at.left !== left) change(i, at);
        },
        pointerup: () => (held = null),
        pointercancel: () => (held = null),
        lostpointercapture: () => (held = null),
        focus: () => select(i),
        keydown(event) {
          if (event.altKey || event.ctrlKey || event.metaKey) return;
          const { key } = event;
          if (ARROWS[key]) {
            const [way, by] = ARROWS[key];
            change(i, { [way]: animals()[i][way] + by * (event.shiftKey ? FAR : 1) });
          } else if (LARGER[key]) grow(i, LARGER[key]);
          else if (key === "Delete" || key === "Backspace") remove(i);
          else return;
          event.preventDefault();
          event.stopPropagation();
        },
      },
    });
    return { element };
  }

  function select(i) {
    if (selected === i) return;
    selected = i;
    draw();
  }

  function cellClicked(event) {
    const at = [...cells.children].indexOf(event.target.closest("button"));
    if (at >= 0) close(at);
  }

  function cellKey(event) {
    const at = [...cells.children].indexOf(event.target);
    if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const row = Math.floor(at / side);
    const column = at % side;
    const to = {
      ArrowLeft: column > 0 && at - 1,
      ArrowRight: column < side - 1 && at + 1,
      ArrowUp: row > 0 && at - side,
      ArrowDown: row < side - 1 && at + side,
      Home: row * side,
      End: row * side + side - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (to === false) return;
    cells.children[at].tabIndex = -1;
    cells.children[to].tabIndex = 0;
    cells.children[to].focus();
  }

  // As many places as the model has.
  function lay(count) {
    side = Math.round(Math.sqrt(count));
    setProperty(picture, "--places", side);
    fog.replaceChildren(...Array.from({ length: count }, () => h("i", null)));
    const cell = (_, i) => h("button", { type: "button", tabindex: i ? -1 : 0 });
    cells.replaceChildren(...Array.from({ length: count }, cell));
  }

  // ------------------------------------------------------------------ the caption

  const which = choiceOf({
    label: tell("choice"),
    options: choices.map(({ label, note }, value) => ({ value, label, help: note })),
    value: get("choice"),
    onInput: (choice) => send({ choice }),
  });
  const note = h("p", { class: "heed-note" });
  const line = wordLine({
    label: tell("caption"),
    lang: "en",
    // The pointer is only passing by; where the keyboard is, there is the reader.
    onAt: (i) => line.word(i) === document.activeElement && goTo(i),
    onAway: () => {},
    onPick: (i) => {
      pause();
      goTo(i);
    },
    onAcross: () => {},
  });
  const when = slider({
    label: tell("word"),
    ...{ min: 0, max: 1, step: 1, value: 0 },
    format: (t) => (t ? `${t}` : tell("word.none")),
    onInput: (t) => {
      pause();
      goTo(t - 1);
    },
  });
  const play = button({ label: tell("play"), onPress: () => (playing ? pause() : start()) });
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const verdict = h("p", { class: "heed-verdict" });
  const status = h("p", { class: "heed-status heed-picture-remarks", role: "status" });
  const looking = choiceOf({
    label: tell("look"),
    options: ["rest", "drawn"].map((value) => ({ value, label: tell(`look.${value}`) })),
    value: get("draw") ? "drawn" : "rest",
    onInput: (value) => send({ draw: value === "drawn" ? 1 : 0 }),
  });
  const sample = button({ label: tell("sample"), onPress: () => send({ draw: get("draw") + 1 }) });
  const dice = group(tell("look"), looking.element, sample.element);
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
        h("caption", null, tell("numbers")),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ["token", "probability", "place", "weight", "gate"].map((key) =>
              h("th", { scope: "col" }, tell(key)),
            ),
          ),
        ),
        rows,
      ),
    ),
  );

  // ------------------------------------------------------------------ the scene

  const tabs = h("div", { class: "heed-picture-tabs" });
  const more = button({ label: tell("add"), onPress: add });
  const kindId = unique("animal");
  const kind = h(
    "select",
    {
      id: kindId,
      class: "heed-select",
      on: { change: () => change(selected, { animal: kind.selectedIndex, drawing: 0 }) },
    },
    world.animals.map((name) => h("option", null, name)),
  );
  const colour = choiceOf({
    label: tell("colour"),
    options: world.colours.map(({ name, paint }, value) => ({
      value,
      label: [h("i", { class: "heed-swatch", style: { background: `rgb(${paint})` } }), name],
    })),
    onInput: (value) => change(selected, { colour: value }),
  });
  const size = slider({
    label: tell("size"),
    ...{ min: 0, max: world.sizes.length - 1, step: 1, value: 0 },
    format: (at) => tell(world.sizes[at] >= world.big ? "big" : "small"),
    onInput: (at) => resize(selected, world.sizes[at]),
  });
  const thumbs = world.drawings[0].map((_, i) =>
    h("canvas", {
      role: "img",
      width: world.side,
      height: world.side,
      class: i < world.known ? null : "heed-strange-drawing",
      "aria-label": tell(i < world.known ? "drawing.known" : "drawing.new", { number: i + 1 }),
    }),
  );
  const drawing = choiceOf({
    label: tell("drawing"),
    options: thumbs.map((label, value) => ({
      value,
      label,
      help: tell(value < world.known ? "drawing.known" : "drawing.new", { number: value + 1 }),
    })),
    onInput: (value) => change(selected, { drawing: value }),
  });
  drawing.element.classList.add("heed-picture-drawings");
  const mirrored = toggle({
    label: tell("mirrored"),
    value: false,
    onInput: (value) => change(selected, { mirrored: value }),
  });
  const away = button({ label: tell("remove"), quiet: true, onPress: () => remove(selected) });
  const editor = h(
    "div",
    { class: "heed-picture-editor" },
    group(
      tell("which"),
      h("div", { class: "heed-control" }, h("label", { for: kindId }, tell("kind")), kind),
      size.element,
      mirrored.element,
      away.element,
    ),
    colour.element,
    drawing.element,
  );
  const ground = choiceOf({
    label: tell("ground"),
    options: world.grounds.map(({ name }, value) => ({ value, label: name })),
    value: get("ground"),
    onInput: (value) => send({ ground: value }),
  });
  const mode = choiceOf({
    label: tell("mode"),
    options: ["move", "close"].map((value) => ({ value, label: tell(`mode.${value}`) })),
    value: "move",
    onInput(value) {
      closing = value === "close";
      draw();
    },
  });
  const open = button({ label: tell("open"), quiet: true, onPress: () => send({ hidden: [] }) });
  const settle = button({ label: tell("tidy"), onPress: () => send({ animals: tidy(animals(), world) }) });
  const fresh = button({ label: tell("another"), onPress: () => turnUp({}) });
  const strange = button({ label: tell("strange"), onPress: () => turnUp({ unseen: true }) });
  const reset = button({
    label: tell("reset"),
    quiet: true,
    onPress() {
      selected = 0;
      send({ ...first });
    },
  });
  const hint = h("p", { class: "heed-note" });
  const tools = h(
    "div",
    { class: "heed-picture-tools" },
    group(tell("scenes"), fresh.element, strange.element, reset.element),
    ground.element,
    tabs,
    editor,
  );
  which.element.hidden = choices.length < 2;
  for (const each of [tools, mode.element, hint, ...(asleep ? [which.element, dice] : [])]) {
    each.hidden ||= asleep;
  }
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-picture" },
      h(
        "div",
        { class: "heed-picture-two" },
        h(
          "div",
          { class: "heed-picture-left" },
          picture,
          h("div", { class: "heed-picture-mode" }, mode.element, open.element),
          hint,
        ),
        h(
          "div",
          { class: "heed-picture-right" },
          which.element,
          note,
          line.element,
          h("div", { class: "heed-picture-time" }, play.element, when.element),
          says,
          verdict,
          dice,
          h("div", null, status, settle.element),
        ),
      ),
      tools,
      numbers,
    ),
  );

  // ------------------------------------------------------------------ drawing

  function draw() {
    const settings = Object.fromEntries(SCENE.map((name) => [name, get(name)]));
    const now = answered(model, ASKED);
    const waiting = expecting(model, ASKED);
    el.firstChild.setAttribute("aria-busy", String(waiting));
    const answer = get("answer") ?? {};
    if (!waiting && !now) setText(status, tell("failed"));
    if (now && answer.count !== drawnCount) {
      drawnCount = answer.count;
      seen = { ...seen, ...answer };
      if (seen.weights.length && seen.weights[0].length !== fog.children.length) lay(seen.weights[0].length);
      drawCaption();
    }
    drawScene(settings);
    drawWord();
    drawTools(settings);
  }

  function drawScene(settings) {
    const key = JSON.stringify(settings);
    if (key !== painting) {
      painting = key;
      const pen = canvas.getContext("2d");
      const image = pen.createImageData(world.canvas, world.canvas);
      const pixels = painted(settings, world);
      const area = world.canvas ** 2;
      for (let i = 0; i < area; i += 1) {
        for (let c = 0; c < 3; c += 1) image.data[4 * i + c] = pixels[c * area + i];
        image.data[4 * i + 3] = 255;
      }
      pen.putImageData(image, 0, 0);
      const there = settings.animals.map(named);
      const where = world.grounds[settings.ground].name;
      setAttribute(
        canvas,
        "aria-label",
        tell(there.length ? "scene" : "scene.empty", { ground: where, animals: there.join(", ") }),
      );
    }
    while (handles.length < settings.animals.length) {
      handles.push(handle(handles.length));
      stage.append(handles.at(-1).element);
    }
    for (const gone of handles.splice(settings.animals.length)) gone.element.remove();
    handles.forEach(({ element }, i) => {
      const each = settings.animals[i];
      for (const [name, value] of [["top", each.top], ["left", each.left], ["width", each.side], ["height", each.side]]) {
        setProperty(element, name, `${(100 * value) / world.canvas}%`);
      }
      setAttribute(element, "aria-label", tell("handle", { name: named(each), top: each.top, left: each.left, side: each.side }));
      setAttribute(element, "aria-pressed", i === selected);
      element.tabIndex = closing || asleep ? -1 : 0;
    });
    picture.classList.toggle("heed-closing", closing);
    stage.hidden = closing || asleep;
    cells.hidden = !closing;
  }

  function named({ side: tall, colour: hue, animal }) {
    return tell("animal", {
      size: tell(tall >= world.big ? "big" : "small"),
      colour: world.colours[hue].name,
      animal: world.animals[animal],
    });
  }

  const written = (token) => (token === END ? tell("end") : token);

  // All that an answer changes and no step from word to word.
  function drawCaption() {
    const { words, weights, gates, probability, right } = seen;
    when.max = words.length;
    const finished = words.at(-1) === END;
    const said = finished ? words.slice(0, -1) : words;
    const good = right && finished && same(said, right);
    verdict.classList.toggle("heed-right", Boolean(good));
    replace(
      verdict,
      good ? tell("right") : right ? [tell("wrong"), " ", marked(right, said)] : tell("none"),
    );
    setText(status, [...new Set(seen.remarks.map(remark)), ...(seen.message ? [tell("failed")] : [])].join(" "));
    replace(
      rows,
      words.map((token, t) => {
        const at = largest(weights[t]);
        const told = [share(probability[t]), placeName(at), share(weights[t][at]), share(gates[t])];
        return h("tr", null, h("th", { scope: "row" }, written(token)), told.map((each) => h("td", null, each)));
      }),
    );
  }

  // What would have been right; the words that the model did not write there stand out.
  function marked(right, said) {
    const words = right.flatMap((each, i) => [i ? " " : "", said[i] === each ? each : h("b", null, each)]);
    return h("span", { lang: own().language }, words);
  }

  function remark({ about, of, ...values }) {
    return tell(`remark.${about}${of ? `.${of}` : ""}`, values);
  }

  function placeName(place) {
    return tell("place.at", { row: Math.floor(place / side) + 1, column: (place % side) + 1 });
  }

  function drawWord() {
    const t = word();
    const { words, weights, glimpses, probability } = seen;
    line.draw(
      words.map((token, i) => ({
        text: written(token),
        said: tell(i === t ? "line.now" : t >= 0 && i > t ? "line.unwritten" : "line.word", { word: written(token) }),
        marks: [
          ...(token === END ? ["end"] : []),
          ...(i === t ? ["now"] : t >= 0 && i > t ? ["unread"] : []),
          ...(probability[i] < 0.5 ? ["unsure"] : []),
        ],
        pressed: i === t,
      })),
    );
    setAttribute(line.element, "lang", own().language ?? "en");
    if (t >= 0) line.stop(t);
    when.value = t + 1;
    const row = t >= 0 ? weights[t] : null;
    const closed = new Set(places() > hidden().length ? hidden() : []);
    const looked = row ? largest(row) : -1;
    const hard = Boolean(own().hard);
    [...fog.children].forEach((cell, i) => {
      const weight = row ? row[i] ?? 0 : 0;
      const thick = row ? THICK * Math.max(0, 1 - Math.sqrt(2 * weight)) : 0;
      setProperty(cell, "--fog", thick.toFixed(3));
      setText(cell, row && weight >= WRITTEN ? share(weight).slice(weight < 0.995 ? 1 : 0) : "");
      const kinds = [
        ...(closed.has(i) ? ["heed-closed"] : []),
        ...(row && glimpses[t] === i ? ["heed-glimpse"] : []),
        ...(row && looked === i && glimpses[t] !== i ? ["heed-likeliest"] : []),
      ];
      setAttribute(cell, "class", kinds.join(" "));
    });
    if (closing) {
      [...cells.children].forEach((cell, i) => {
        setAttribute(cell, "aria-label", tell("cell", { place: placeName(i) }));
        setAttribute(cell, "aria-pressed", closed.has(i));
      });
    }
    dice.hidden = asleep || !hard;
    clearTimeout(timer);
    timer = setTimeout(() => setText(says, spoken(t)), says.textContent ? THROTTLE : 0);
  }

  function spoken(t) {
    if (t < 0 || !seen.words.length) return tell("says.none");
    const { words, weights, glimpses, gates, probability } = seen;
    const at = glimpses[t] >= 0 ? glimpses[t] : largest(weights[t]);
    const there = seen.boxes.flatMap((box, i) => (animals()[i] && shares(box, at) ? [named(animals()[i])] : []));
    const values = {
      word: written(words[t]),
      probability: share(probability[t]),
      place: placeName(at),
      weight: share(weights[t][at]),
      on: there.length ? tell("on", { animals: there.join(tell("and")) }) : tell("on.nobody"),
      gate: share(gates[t]),
    };
    const drawnAt = glimpses[t] >= 0 && glimpses[t] !== largest(weights[t]);
    const said = tell(glimpses[t] < 0 ? "says.soft" : drawnAt ? "says.drawn" : "says.hard", values);
    return gates[t] < SHUT ? `${said} ${tell("shut")}` : said;
  }

  // Whether a place and a box have a pixel in common.
  function shares([top, left, bottom, right], place) {
    const cell = world.canvas / side;
    const [y, x] = [Math.floor(place / side) * cell, (place % side) * cell];
    return y < bottom && y + cell > top && x < right && x + cell > left;
  }

  function drawTools({ animals: all, ground: where }) {
    which.value = get("choice");
    setText(note, own().note ?? "");
    ground.value = where;
    mode.value = closing ? "close" : "move";
    looking.value = get("draw") ? "drawn" : "rest";
    sample.disabled = !get("draw");
    open.element.hidden = asleep || !hidden().length;
    settle.element.hidden = asleep || all.length < 2 || order(all, world) !== null;
    setText(hint, tell(closing ? "hint.close" : "hint.move"));
    reset.disabled = Object.keys(first).every((name) => same(get(name), first[name]));
    more.disabled = all.length >= world.most;
    while (tabs.children.length - 1 < all.length) {
      const i = Math.max(0, tabs.children.length - 1);
      const tab = button({ label: "", onPress: () => select(i) });
      if (tabs.contains(more.element)) tabs.insertBefore(tab.element, more.element);
      else tabs.append(tab.element, more.element);
    }
    if (!tabs.children.length) tabs.append(more.element);
    [...tabs.children].slice(all.length, -1).forEach((tab) => tab.remove());
    all.forEach((each, i) => {
      setText(tabs.children[i], named(each));
      setAttribute(tabs.children[i], "aria-pressed", i === selected);
    });
    const chosen = all[selected];
    editor.hidden = !chosen;
    if (!chosen) return;
    kind.selectedIndex = chosen.animal;
    colour.value = chosen.colour;
    size.value = world.sizes.indexOf(chosen.side);
    drawing.value = chosen.drawing;
    mirrored.value = chosen.mirrored;
    thumbs.forEach((thumb, i) => drawThumb(thumb, chosen, i));
  }

  function drawThumb(thumb, { animal, mirrored: turned }, i) {
    const key = `${animal} ${turned}`;
    if (thumb.dataset.of === key) return;
    thumb.dataset.of = key;
    const pen = thumb.getContext("2d");
    const image = pen.createImageData(world.side, world.side);
    silhouette(animal, i, world).forEach((filled, at) => {
      const column = at % world.side;
      const to = turned ? at - column + world.side - 1 - column : at;
      image.data.set([128, 128, 128, filled ? 255 : 0], 4 * to);
    });
    pen.putImageData(image, 0, 0);
  }

  // ------------------------------------------------------------------ life

  lay(64);
  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    clearInterval(playing);
    clearTimeout(timer);
    ask.stop();
  };
}
