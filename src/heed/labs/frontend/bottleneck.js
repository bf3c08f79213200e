// The bottleneck lab: a story grows word by word, and comes back through one vector and with
// attention. What is counted is what the models read and write: words and marks of punctuation.
//
// Whether a word is lost is a claim about the right French. That is known for the clauses of the
// story (gold); a sentence of the reader's own only shows where the two networks differ.
//
// Settings: text. Reads besides: story, gold, examples, backward, answer, strings.

import {asker} from "./asking.js";
import {button, group, slider, textBox} from "./controls.js";
import {h, setAttribute, setText} from "./dom.js";
import {diverging} from "./palette.js";
import {END, isWord, remarks} from "./remarks.js";
import {sayer} from "./say.js";
import {markedLine} from "./sentence.js";
import {fitted, svg, through} from "./svg.js";
import {tokenize} from "./text.js";

const EXAMPLES = ["short", "question", "strange"];
const MOVED = 0.1; // a number that changed by more than this has moved
const STRONG = 0.5; // a change that gets the full colour
const OWN = 12; // sentences of the reader's own that keep their dot
const QUIET = 500; // milliseconds without a new answer before one is spoken

/** The story at each length that the slider stops at, a word longer each time: [{words, text}],
 * words being what is read there, marks included. */
export function tellings(clauses) {
  const words = clauses.join(" ").split(/\s+/u).filter(Boolean);
  const stops = [];
  words.forEach((word, at) => {
    if (!isWord(word)) return;
    const told = words.slice(0, at + 1).join(" ");
    const bare = told.replace(/ (?=[,.;:!?])/gu, "").replace(/[\s,.;:!?]+$/u, "");
    stops.push(`${bare.charAt(0).toUpperCase()}${bare.slice(1)}.`);
  });
  return stops.map((text) => ({ words: tokenize(text, "en").length, text }));
}

const bare = (words) => words.filter((word) => word !== END);

/** What an answer says about how much came through: how many there are in the attended line, and
 * how many of them in the other. */
function throughput({ source, fixed, attended }) {
  const n = fixed.target.filter((word, i) => fixed.kept[i] && word !== END).length;
  const of = bare(attended.target).length;
  return { n, of, share: of ? n / of : 0, words: bare(source).length };
}

/** One sentence becomes the other where words are added, taken away or exchanged at one place; of
 * the shorter one all but a word stays. */
export function related(before, now) {
  const shorter = Math.min(before.length, now.length);
  let same = 0;
  while (same < shorter && before[same] === now[same]) same += 1;
  let end = 0;
  while (end < shorter - same && before.at(-1 - end) === now.at(-1 - end)) end += 1;
  return shorter - same - end <= 1;
}

/** The same for one telling however it is spaced and ended. */
const letters = (text) => text.replace(/\s/gu, "").replace(/[,.;:!?]+$/u, "").toLowerCase();

/** Share of words that came through against length: a dot for each length that was visited. */
function strip(tell, longest) {
  const box = h("div", { class: "heed-strip", role: "img" });
  const story = new Map(); // length -> share
  const own = new Map(); // sentence -> {words, share}, the latest ones
  const diamonds = h("p", { class: "heed-note", hidden: true }, tell("strip_own"));
  let here = null;
  let width = 0;
  const HEIGHT = 128;
  const [LEFT, RIGHT, TOP, BOTTOM] = [44, 10, 10, 34];

  const percent = (share) => Math.round(100 * share);
  const axes = svg("g");
  const line = svg("path", { class: "line" });
  const [dots, owns] = [svg("g"), svg("g")];
  const ring = svg("circle", { class: "here", r: 7 });
  const picture = svg("svg", { "aria-hidden": true }, axes, line, dots, owns);
  box.append(picture);
  let scale = ""; // that of what is drawn
  const placed = new Map(); // length -> its dot

  function frame(x, y, span) {
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      const at = y(share);
      parts.push(svg("path", { class: "grid", d: `M${LEFT} ${at}H${width - RIGHT}` }));
      const mark = { x: LEFT - 6, y: at + 4, "text-anchor": "end" };
      parts.push(svg("text", mark, `${percent(share)} %`));
    }
    const every = span > 30 ? 10 : 5;
    for (let words = 0; words <= span; words += every) {
      const mark = { x: x(words), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" };
      parts.push(svg("text", mark, String(words)));
    }
    const name = { x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 3, "text-anchor": "middle" };
    axes.replaceChildren(...parts, svg("text", name, tell("strip_x")));
    const size = { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` };
    for (const [attribute, value] of Object.entries(size)) picture.setAttribute(attribute, value);
    dots.replaceChildren();
    placed.clear();
  }

  // A story adds a dot at a time; all else is drawn anew only where the scale is another one.
  function draw() {
    if (!width) return;
    const span = Math.max(longest, ...story.keys(), ...[...own.values()].map((o) => o.words), 10);
    const x = (words) => LEFT + ((width - LEFT - RIGHT) * words) / span;
    const y = (share) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
    if (scale !== `${width} ${span}`) frame(x, y, span);
    scale = `${width} ${span}`;
    const told = [...story].sort((a, b) => a[0] - b[0]);
    for (const [words, share] of told) {
      if (!placed.has(words)) placed.set(words, svg("circle", { class: "dot", cx: x(words), r: 3 }));
      const dot = placed.get(words);
      setAttribute(dot, "cy", y(share));
      if (!dot.isConnected) dots.append(dot);
    }
    setAttribute(line, "d", through(told.map(([words, share]) => [x(words), y(share)])));
    const paths = [...own.values()].map(({ words, share }) => {
      const [cx, cy] = [x(words), y(share)];
      return `M${cx - 5} ${cy}L${cx} ${cy - 5}L${cx + 5} ${cy}L${cx} ${cy + 5}Z`;
    });
    const last = [...owns.children].map((each) => each.getAttribute("d"));
    if (last.join() !== paths.join()) {
      owns.replaceChildren(...paths.map((d) => svg("path", { class: "own", d })));
    }
    if (here) {
      setAttribute(ring, "cx", x(here.words));
      setAttribute(ring, "cy", y(here.share));
      picture.append(ring);
    } else {
      ring.remove();
    }
    diamonds.hidden = !own.size;

    const seen = [...told, ...[...own.values()].map((o) => [o.words, o.share])];
    const said = seen.slice(-16).map(([words, s]) => tell("strip_dot", { words, p: percent(s) }));
    box.setAttribute("aria-label", tell("strip_label", { dots: said.join(", ") || "–" }));
  }

  const stop = fitted(box, (now) => {
    width = now;
    draw();
  });
  return {
    element: h("figure", {}, h("figcaption", {}, tell("strip")), box, diamonds),
    /** seen: what throughput gives; told: whether it is a part of the story, or a sentence of the
     * reader's own. */
    add(seen, told, sentence) {
      here = { words: seen.words, share: seen.share };
      if (told) {
        story.set(seen.words, seen.share);
      } else {
        own.delete(sentence); // the one told last is the latest
        own.set(sentence, here);
      }
      if (own.size > OWN) own.delete(own.keys().next().value);
      draw();
    },
    away() {
      here = null;
      draw();
    },
    stop,
  };
}

/** 255 steps of the diverging map as bytes, once. */
let bytes = null;
function colours() {
  if (bytes) return bytes;
  const probe = h("canvas", { width: 1, height: 1 });
  const brush = probe.getContext("2d", { willReadFrequently: true });
  bytes = new Uint8ClampedArray(4 * 255);
  for (let i = 0; i < 255; i += 1) {
    brush.fillStyle = diverging((i - 127) / 127).background;
    brush.fillRect(0, 0, 1, 1);
    bytes.set(brush.getImageData(0, 0, 1, 1).data, 4 * i);
  }
  return bytes;
}

const level = (x) => 127 + Math.round(127 * Math.max(-1, Math.min(1, x)));

/** A row of cells, one pixel each; the style sheet stretches it. */
function cells(name) {
  const canvas = h("canvas", { class: name, width: 1, height: 1 });
  return {
    canvas,
    draw(count, paint) {
      if (canvas.width !== count) canvas.width = count;
      const brush = canvas.getContext("2d");
      const image = brush.createImageData(count, 1);
      for (let i = 0; i < count; i += 1) paint(image.data, 4 * i, i);
      brush.putImageData(image, 0, 0);
    },
  };
}

/** The vector: for each of its rows the numbers, and under them how far each has moved. */
function vector(tell, backward) {
  const grid = h("div", { class: "heed-vector", role: "img" });
  const told = h("p", { class: "heed-note" });
  const moved = h("p", { class: "heed-says" });
  const scale = cells("heed-scale");
  const legend = h("p", { class: "heed-legend", "aria-hidden": "true" }, "−1", scale.canvas, "1");
  let rows = [];
  let now = null; // {source, values}
  let before = null; // the one to which it is compared: another telling of nearly the same
  let first = true;

  function paint() {
    const map = colours();
    let count = 0;
    now.values.forEach((numbers, row) => {
      rows[row].numbers.draw(numbers.length, (data, at, i) => {
        const from = 4 * level(numbers[i]);
        data.set(map.subarray(from, from + 4), at);
      });
      rows[row].moved.draw(numbers.length, (data, at, i) => {
        const change = before ? Math.abs(numbers[i] - before.values[row][i]) : 0;
        if (change > MOVED) count += 1;
        data.set([232, 89, 12, 255 * Math.min(1, change / STRONG)], at);
      });
    });
    return count;
  }

  return {
    element: h(
      "figure",
      {},
      h("figcaption", {}, tell("vector")),
      told,
      grid,
      h("div", { class: "heed-under" }, moved, legend),
    ),
    draw(state, source) {
      // c has no bounds; the decoder shows it through a tanh, and so do we
      const values = state.values.map((numbers, row) =>
        numbers.map((x) => (state.names[row].startsWith("c") ? Math.tanh(x ?? 0) : (x ?? 0))),
      );
      const words = source.length;
      if (!now || now.source.join(" ") !== source.join(" ")) {
        const shape = (each) => each.values.map((row) => row.length).join();
        const next = { source, values };
        first = !now;
        before = now && shape(now) === shape(next) && related(now.source, source) ? now : null;
        now = next;
      }
      if (rows.length !== values.length) {
        const map = colours();
        scale.draw(127, (data, at, i) => data.set(map.subarray(8 * i, 8 * i + 4), at));
        rows = state.names.map(() => ({ numbers: cells("numbers"), moved: cells("moved") }));
        const parts = rows.flatMap((row, i) => [
          h("span", {}, state.names[i]),
          h("span", {}, row.numbers.canvas, row.moved.canvas),
        ]);
        grid.replaceChildren(...parts);
      }
      const count = values.reduce((sum, row) => sum + row.length, 0);
      const n = paint();
      const large = values.flat().filter((x) => Math.abs(x) > STRONG).length;
      setText(told, tell("vector_told", { count }) + (backward ? ` ${tell("backward")}` : ""));
      const from = before?.source.length;
      const change = from === words ? "edited" : "moved";
      if (before) setText(moved, tell(change, { from, to: words, n, count }));
      else setText(moved, tell(first ? "unmoved" : "another"));
      grid.setAttribute("aria-label", tell("vector_label", { count, words, large }));
      grid.dataset.moved = before ? n : "";
    },
  };
}

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "bottleneck");
  const ask = asker(model);
  const clauses = model.get("story") ?? [];
  const stops = tellings(clauses);
  const placeOf = (text) => 1 + stops.findIndex((stop) => letters(stop.text) === letters(text));
  // The French of a whole clause and all before it, by the letters of the English.
  const gold = new Map(
    (model.get("gold") ?? []).map((_, i, french) => [
      letters(clauses.slice(0, i + 1).join(" ")),
      french.slice(0, i + 1).flat(),
    ]),
  );

  const howLong = slider({
    label: tell("length"),
    min: 1,
    max: Math.max(2, stops.length),
    step: 1,
    value: placeOf(model.get("text")) || stops.length,
    format: (place) =>
      placeOf(model.get("text")) ? tell("words", { n: stops[place - 1].words }) : tell("words.own"),
    onInput: (place) => tellIt(stops[place - 1].text),
  });
  const typed = textBox({
    label: tell("text"),
    value: model.get("text"),
    onInput: tellIt,
  });
  const given = model.get("examples") ?? [];
  const texts = given.length ? given : EXAMPLES.map((name) => tell(`example.${name}`));
  const examples = texts.map(
    (text) => button({ label: text, quiet: true, onPress: () => tellIt(text) }).element,
  );

  const offered = group(tell("try"), h("span", {}, tell("try")), ...examples);
  offered.classList.add("heed-offered");

  if (model.get("asleep")) {
    // a page without its model: there is only to look
    for (const element of [howLong.element, typed.element, offered]) element.hidden = true;
  }

  if (stops.length < 2) howLong.element.hidden = true; // nothing to slide through

  function tellIt(text) {
    if (typed.value !== text) typed.value = text;
    ask({ text });
    slide(text);
  }

  // Where a sentence of the reader's own has no place on the slider, the thumb stays, and says so.
  function slide(text) {
    howLong.value = placeOf(text) || howLong.value;
  }

  const english = markedLine(tell("english"), "en");
  const fixed = markedLine(tell("fixed"), "fr");
  const attended = markedLine(tell("attended"), "fr");
  const count = h("p", { class: "heed-count" });
  const note = h("p", { class: "heed-note heed-remark" });
  const yardstick = h("p", { class: "heed-note" });
  const spoken = h("p", { class: "heed-said", role: "status" });
  const chart = strip(tell, stops.at(-1)?.words ?? 0);
  const inside = vector(tell, Boolean(model.get("backward")));
  let quiet = 0;

  function speak(text) {
    clearTimeout(quiet);
    quiet = setTimeout(() => {
      setText(spoken, text);
    }, QUIET);
  }

  function draw() {
    const answer = model.get("answer");
    if (!answer?.fixed) return;
    const nothing = !answer.attended.target.length;
    const story = placeOf(answer.source.slice(0, -1).join("")) > 0;
    const mark = (key) => tell(story ? key : `${key}.own`);
    english.draw(
      answer.source,
      answer.source.map((_, i) => {
        if (!answer.known[i]) return { class: "heed-strange", said: tell("unknown_word") };
        return answer.lost[i] ? { class: "heed-lost", said: mark("lost") } : null;
      }),
    );
    fixed.draw(
      answer.fixed.target,
      answer.fixed.kept.map((kept) =>
        kept ? null : { class: "heed-made-up", said: mark("made_up") },
      ),
      nothing || answer.fixed.finished ? "" : tell("unfinished"),
    );
    attended.draw(
      answer.attended.target,
      [],
      nothing || answer.attended.finished ? "" : tell("unfinished"),
    );
    const seen = throughput(answer);
    setText(note, remarks(answer, strings, tell));
    note.hidden = !note.textContent;
    const counted = tell(story ? "count" : "count.own", { n: seen.n, m: seen.of });
    setText(count, nothing ? tell("nothing") : counted);
    setText(yardstick, nothing ? "" : measured(answer, story));
    speak([count.textContent, note.textContent].filter(Boolean).join(" "));
    if (nothing) {
      chart.away();
    } else {
      chart.add(seen, story, answer.source.join(" "));
      inside.draw(answer.state, bare(answer.source));
    }
  }

  /** By what the marks are set, and how far it is to be trusted. */
  function measured({ source, attended }, story) {
    if (!story) return tell("yardstick.own");
    const right = gold.get(letters(source.slice(0, -1).join("")));
    if (!right) return `${tell("yardstick")} ${tell("yardstick.part")}`;
    const written = bare(attended.target);
    const same = letters(written.join(" ")) === letters(right.join(" "));
    const key = same ? "yardstick.right" : "yardstick.wrong";
    return `${tell("yardstick")} ${tell(key, { gold: right.join(" ") })}`;
  }

  function pulled() {
    const text = model.get("text");
    if (typed.value !== text) typed.value = text;
    slide(text);
  }

  el.replaceChildren(
    h(
      "div",
      { class: "heed-sheet heed-bottleneck", role: "group", "aria-label": tell("label") },
      howLong.element,
      typed.element,
      examples.length ? offered : null,
      note,
      count,
      h("div", { class: "heed-lines" }, english.element, fixed.element, attended.element),
      yardstick,
      spoken,
      chart.element,
      inside.element,
    ),
  );
  model.on("change:answer", draw);
  model.on("change:text", pulled);
  draw();
  return () => {
    clearTimeout(quiet);
    typed.stop();
    ask.stop();
    chart.stop();
    model.off("change:answer", draw);
    model.off("change:text", pulled);
  };
}
