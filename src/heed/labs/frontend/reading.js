// The reading lab: a sentence that a language model reads word by word. The word being read is red,
// those it looks at are blue, as in the figure of its paper; beside it what the model, and an LSTM
// of its size, think comes next. All the looks together are a triangle of a map.
//
// Settings: text, word, look, null, temperature. Reads besides: examples, answer, strings, asleep.

import {answered, asker, expecting} from "./asking.js";
import {button, choice as choiceOf, group, slider, textBox, toggle} from "./controls.js";
import {h, replace, setText} from "./dom.js";
import {wordLine} from "./lines.js";
import {attentionMap} from "./map.js";
import {END, remarks} from "./remarks.js";
import {sayer, share} from "./say.js";

const ASKED = ["text", "look", "null", "temperature"];
const WATCHED = [...ASKED, "word", "answer"];
const LOOKS = ["own", "last", "uniform"];
const ITSELF = { look: "own", null: true, temperature: 1 };
const [NULL, START] = ["∅", "<s>"];
const MOST = 12; // bits, from which a bar is as tall as it gets
const LETTERS = 24; // of a word, where it is spoken of

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "reading");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look

  let seen = {}; // the answer on the screen; until a new text is answered, that of the old one
  let reads = []; // the words that were read in it, "<s>" first
  let drawnCount = null;

  // ------------------------------------------------------------------ what stands there

  const box = textBox({
    label: tell("text"),
    value: model.get("text") ?? "",
    placeholder: tell("placeholder"),
    onInput: (text) => ask({ text }),
  });
  const given = model.get("examples");
  const texts = given?.length ? given : ["1", "2", "3"].map((number) => tell(`example.${number}`));
  const examples = texts.map((text) =>
    button({ label: text, title: text, quiet: true, onPress: () => ask({ text }) }),
  );
  const status = h("p", { class: "heed-status", role: "status" });
  const line = wordLine({
    label: tell("line"),
    lang: "en",
    // The pointer is only passing by; where the keyboard is, there is the reader.
    onAt: (i) => line.word(i) === document.activeElement && goTo(i - 1),
    onAway: () => {},
    onPick: (i) => goTo(i - 1),
    onAcross: () => {},
  });
  const place = slider({
    label: tell("place"),
    ...{ min: 0, max: 1, step: 1, value: 0 },
    format: (row) => short(reads[row] ?? ""),
    onInput: goTo,
  });
  const bars = h("div", { class: "heed-bits", role: "img" });
  const swatch = (name, key) => h("span", { class: `heed-bits-name ${name}` }, tell(key));
  const surprise = h(
    "div",
    { class: "heed-surprise" },
    h("p", null, tell("surprise"), " ", swatch("ours", "lstmn"), " ", swatch("theirs", "lstm")),
    bars,
  );
  const caption = h("caption", null);
  const guesses = h("tbody", null);
  const table = h(
    "table",
    { class: "heed-guesses" },
    caption,
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("td", null),
        h("th", { scope: "col" }, tell("lstmn")),
        h("th", { scope: "col" }, tell("lstm")),
      ),
    ),
    guesses,
  );
  const came = h("p", { class: "heed-came", "aria-live": "polite" });
  const whole = h("p", { class: "heed-whole" });
  const look = choiceOf({
    label: tell("look"),
    options: LOOKS.map((value) => ({ value, label: tell(`look.${value}`) })),
    value: model.get("look"),
    onInput: (value) => ask({ look: value }),
  });
  const lookHelp = h("p", { class: "heed-help" });
  const slot = toggle({
    label: tell("null"),
    value: model.get("null"),
    help: tell("null.help"),
    onInput: (value) => ask({ null: value }),
  });
  const temperature = slider({
    label: tell("temperature"),
    ...{ min: 0.1, max: 5, step: 0.1, value: model.get("temperature") ?? 1 },
    format: (value) => value.toFixed(1),
    help: tell("temperature.help"),
    onInput: (value) => ask({ temperature: value }),
  });
  const reset = button({ label: tell("reset"), onPress: () => ask({ ...ITSELF }) });
  const steering = group(
    tell("steering"),
    h("div", null, look.element, lookHelp),
    h("div", null, slot.element, temperature.element, reset.element),
  );
  steering.classList.add("heed-steering");
  const offered = group(
    tell("examples"),
    h("span", { class: "heed-examples-word", "aria-hidden": "true" }, tell("examples")),
    ...examples.map((each) => each.element),
  );
  offered.classList.add("heed-examples");
  offered.classList.remove("heed-group");
  box.element.hidden = offered.hidden = steering.hidden = asleep;
  const map = attentionMap({ strings, label: tell("map"), own: "reading.map" });
  map.onPick((row) => row >= 0 && goTo(row));
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-reading" },
      box.element,
      offered,
      status,
      h("div", { class: "heed-read" }, line.element, place.element),
      h("div", { class: "heed-after" }, h("div", { class: "heed-scroll" }, table), came),
      surprise,
      whole,
      steering,
      map.element,
    ),
  );

  // ------------------------------------------------------------------ what it shows

  const last = () => reads.length - 1;
  function row() {
    const word = model.get("word");
    return word >= 0 && word < last() ? word : last();
  }

  function goTo(next) {
    const to = Math.max(0, Math.min(next, last()));
    if (to === row()) return;
    model.set({ word: to === last() ? -1 : to }); // who is at the end stays there while typing
    model.save_changes();
  }

  function draw() {
    box.value = model.get("text") ?? "";
    look.value = model.get("look");
    setText(lookHelp, tell(`look.${model.get("look")}.help`));
    slot.value = model.get("null");
    temperature.value = model.get("temperature");
    const now = answered(model, ASKED);
    const waiting = expecting(model, ASKED);
    el.firstChild.setAttribute("aria-busy", String(waiting));
    const answer = model.get("answer") ?? {};
    if (!waiting && !now) setText(status, remarks(answer, strings, tell)); // the model failed
    if (now && answer.count !== drawnCount) {
      drawnCount = answer.count;
      seen = { source: [], known: [], weights: [], next: [], bits: [], alone: null, ...answer };
      reads = seen.source.length ? [START, ...seen.source.slice(0, -1)] : [];
      drawSentence();
    }
    drawPlace();
  }

  // All that an answer changes and no step from word to word.
  function drawSentence() {
    const { source, known, weights, bits, rival, alone } = seen;
    setText(status, remarks(seen, strings, tell));
    const some = reads.length > 0;
    for (const each of [line, place, map]) each.element.hidden = !some;
    surprise.hidden = whole.hidden = table.hidden = came.hidden = !some;
    const unknown = source.flatMap((_, i) => (known[i] === false ? [i] : []));
    map.draw(
      { query: reads, key: some ? [NULL, ...reads.slice(0, -1)] : [], weights },
      {
        row: row(),
        pick: true,
        heads: true,
        unsure: unknown.map((i) => i + 1),
        unknown: unknown.map((i) => i + 2),
      },
    );
    if (!some) return;
    place.max = last();
    const bar = (value, name) =>
      h("i", { class: name, style: { "--part": Math.min(1, (value ?? 0) / MOST) } });
    replace(
      bars,
      source.map((_, i) => h("span", null, bar(bits[i], "ours"), bar(rival.bits[i], "theirs"))),
    );
    const each = source.map((word, i) =>
      tell("bars.word", { word: shown(word), ours: digits(bits[i]), theirs: digits(rival.bits[i]) }),
    );
    bars.setAttribute("aria-label", tell("bars", { words: each.join("; ") }));
    const told = [
      tell("whole", { ...total(bits), name: tell("lstmn") }),
      tell("whole.rival", { ...total(rival.bits), name: tell("lstm") }),
    ];
    if (alone) told.push(tell("whole.alone", total(alone.bits)));
    setText(whole, told.join(" "));
  }

  function drawPlace() {
    if (!reads.length) return;
    const t = row();
    const { source, known, weights, next, bits, rival } = seen;
    const looked = weights[t] ?? [];
    line.draw(
      [NULL, ...reads].map((word, i) => ({
        text: word,
        said: said(word, i, t, looked),
        marks: [
          ...(i < 2 ? ["mark"] : []),
          ...(i === t + 1 ? ["now"] : i > t + 1 ? ["unread"] : []),
          ...(i > 1 && known[i - 2] === false ? ["unknown"] : []),
        ],
        pressed: i === t + 1,
      })),
    );
    line.tint(looked);
    line.stop(t + 1);
    place.value = t;
    map.select(t);
    [...bars.children].forEach((each, i) => each.classList.toggle("heed-on", i === t));
    const word = shown(source[t]);
    setText(caption, tell("guesses", { word: short(reads[t]) }));
    const cell = (guess) =>
      h(
        "td",
        guess?.[0] === source[t] ? { class: "heed-here" } : null,
        guess ? h("span", { lang: "en" }, shown(guess[0])) : "",
        guess ? h("b", { style: { "--part": guess[1] ?? 0 } }, share(guess[1])) : "",
      );
    replace(
      guesses,
      next[t].map((guess, i) =>
        h("tr", null, h("th", { scope: "row" }, i + 1), cell(guess), cell(rival.next[t][i])),
      ),
    );
    const both = { ours: digits(bits[t]), theirs: digits(rival.bits[t]) };
    setText(came, tell(source[t] === END ? "came.end" : "came", { word, ...both }));
  }

  function said(word, i, t, looked) {
    if (i === t + 1) return tell("line.now", { word });
    if (i > t + 1) return tell("line.unread", { word });
    return tell("line.looked", { word, weight: share(looked[i]) });
  }

  const shown = (word) => (word === END ? tell("end") : short(word));
  const digits = (value) => (Number.isFinite(value) ? value.toFixed(1) : "–");

  /** Bits of a whole sentence, and among how many words alike one would have to choose each time. */
  function total(bits) {
    const sum = bits.reduce((a, b) => a + (b ?? NaN), 0); // the model wrote no number
    const alike = Math.round(2 ** (sum / bits.length));
    return { bits: digits(sum), alike: Number.isFinite(alike) ? alike.toLocaleString("en") : "–" };
  }

  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    box.stop();
    ask.stop();
    map.stop();
  };
}

function short(word) {
  const letters = [...word];
  return letters.length > LETTERS ? `${letters.slice(0, LETTERS).join("")}…` : word;
}
