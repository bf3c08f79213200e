// The bandit lab: arms that pay as often as they will. The reader pulls, and beside them, with the same
// luck, a policy whose attention can be watched, and two players by rule.
//
// Settings: seed, likeliest, pulls, at, block. Reads besides: sizes, answer, strings, asleep.

import {answered, asker, expecting} from "./asking.js";
import {unpacked} from "./bandits.js";
import {button, choice as choiceOf, group, slider} from "./controls.js";
import {h, replace, setAttribute, setProperty, setText} from "./dom.js";
import {largest, loudest} from "./numbers.js";
import {sayer, share} from "./say.js";
import {same} from "./store.js";
import {fitted, svg} from "./svg.js";

const SETTINGS = ["seed", "likeliest", "pulls", "at", "block"];
const ASKED = ["seed", "likeliest"];
const WATCHED = [...SETTINGS, "answer", "sizes"];
const PLAYERS = ["you", "snail", "gittins", "greedy"];
const MORE = 10; // pulls of the same arm by one press
const SEEN = 0.05; // a smaller weight is not spoken of
const THROTTLE = 400;
const [ROW, GAP, LEFT] = [13, 3, 22]; // of the strips, in pixels

export function render({ model, el }) {
  const strings = model.get("strings");
  const tell = sayer(strings, "bandit");
  const ask = asker(model);
  const asleep = Boolean(model.get("asleep")); // a page without its model: there is only to look
  const get = (name) => model.get(name);
  const first = Object.fromEntries(SETTINGS.map((name) => [name, get(name)]));
  const { arms, pulls: whole } = get("sizes");
  const every = Array.from({ length: arms }, (_, arm) => arm);

  let wide = 0; // of a strip, in pixels
  let seen = null; // the answer on screen, and what is made of it
  let timer = 0;
  let listed = null;

  // The reader's pulls ask nobody: what every arm pays is known.
  function look(settings) {
    model.set(settings);
    model.save_changes();
    draw();
  }

  function pull(more) {
    const pulls = [...get("pulls"), ...more].slice(0, whole);
    if (!seen || pulls.length === get("pulls").length) return;
    const within = el.contains(document.activeElement);
    look({ pulls, at: 0 });
    if (over() && within) again.element.focus({ preventScroll: true }); // the arms can be pulled no more
  }

  const done = () => get("pulls").length;
  const over = () => done() === whole;

  // ------------------------------------------------------------------ the arms

  const cards = every.map((arm) => {
    const press = button({ label: tell("arm", { arm: arm + 1 }), onPress: () => pull([arm]) });
    const [yours, its, next, truth] = Array.from({ length: 4 }, () => h("span", { class: "heed-bandit-line" }));
    const bar = h("span", { class: "heed-bandit-next" }, h("i", { "aria-hidden": "true" }), next);
    const element = h("div", { class: "heed-bandit-arm", role: "group", "aria-label": tell("arm", { arm: arm + 1 }) });
    replace(element, press.element, yours, its, bar, truth);
    return { press, yours, its, bar, next, truth, element };
  });
  const table = h(
    "div",
    { class: "heed-bandit-arms", on: { keydown: armKey }, style: { "--arms": arms } },
    cards.map(({ element }) => element),
  );

  function armKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || asleep) return;
    const arm = Number(event.key) - 1;
    const now = cards.findIndex(({ element }) => element.contains(document.activeElement));
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (every.includes(arm)) {
      cards[arm].press.element.focus();
      pull([arm]);
    } else if (step && now >= 0) cards[(now + step + arms) % arms].press.element.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // ------------------------------------------------------------------ what is set

  const more = button({ label: tell("more", { count: MORE }), onPress: () => pull(Array(MORE).fill(get("pulls").at(-1))) });
  const rest = button({
    label: tell("rest"),
    onPress: () => pull(seen.game.snail.arms.slice(done())),
  });
  const again = button({ label: tell("again"), onPress: () => look({ pulls: [], at: 0 }) });
  const another = button({
    label: tell("another"),
    onPress() {
      ask({ seed: (get("seed") + 1) % 2 ** 32, pulls: [], at: 0 });
      draw();
    },
  });
  const reset = button({
    label: tell("reset"),
    quiet: true,
    onPress() {
      const { seed, likeliest, ...others } = first;
      look(others);
      ask({ seed, likeliest });
      draw();
    },
  });
  const how = choiceOf({
    label: tell("how"),
    options: [false, true].map((value) => ({ value, label: tell(`how.${value}`) })),
    value: get("likeliest"),
    onInput(likeliest) {
      ask({ likeliest });
      draw();
    },
  });
  const when = slider({
    label: tell("when"),
    ...{ min: 1, max: whole, step: 1, value: 1 },
    format: (at) => tell(at > done() ? "when.next" : "when.of", { pull: at }),
    onInput: (at) => look({ at: at > done() ? 0 : at }),
  });
  const which = h("div", { class: "heed-bandit-which" });
  let blocks = null; // the control for what is in `which`

  function drawBlocks() {
    const names = Object.keys(seen.looks);
    which.hidden = names.length < 2;
    if (!which.hidden && blocks?.names !== names.join()) {
      const options = names.map((label, value) => ({ label, value }));
      blocks = {
        names: names.join(),
        control: choiceOf({ label: tell("block"), options, value: blockNow(), onInput: (block) => look({ block }) }),
      };
      replace(which, blocks.control.element);
    }
    if (!which.hidden) blocks.control.value = blockNow();
  }

  function blockNow() {
    const last = Object.keys(seen.looks).length - 1;
    return get("block") < 0 ? last : Math.min(get("block"), last);
  }

  // The pull of the policy that is looked at: the next one, if none is chosen.
  const at = () => (get("at") && get("at") <= done() ? get("at") : Math.min(done() + 1, whole));

  // ------------------------------------------------------------------ the strips

  function strip(name) {
    const ground = svg("g", { class: "looks" });
    const marks = svg("g", { class: "marks" });
    const labels = svg("g", { class: "arms" });
    const here = svg("path", { class: "here" });
    const picture = svg("svg", { class: "heed-bandit-strip", role: "img", height: arms * ROW + 2 * GAP }, ground, labels, marks, here);
    every.forEach((arm) => labels.append(svg("text", { x: 2, y: GAP + arm * ROW + ROW - 3 }, String(arm + 1))));
    return { name, picture, ground, marks, here };
  }
  const strips = ["you", "snail"].map(strip);
  const boxes = strips.map(({ name, picture }) =>
    h("div", { class: "heed-bandit-box" }, h("p", { class: "heed-bandit-name" }, tell(`strip.${name}`)), picture),
  );
  const legend = h("p", { class: "heed-note" }, tell("legend"));

  function drawStrip({ name, picture, ground, marks, here }) {
    if (!wide) return;
    const step = (wide - LEFT - 4) / whole;
    const x = (t) => LEFT + t * step;
    setAttribute(picture, "width", wide);
    const game = gameOf(name);
    const shown = game.arms.slice(0, done()).map((arm, t) => {
      const paid = game.paid[t];
      return `${t} ${arm} ${paid}`;
    });
    const key = `${wide} ${shown.join()}`;
    if (picture.dataset.key !== key) {
      picture.dataset.key = key;
      marks.replaceChildren(
        ...shown.map((text) => {
          const [t, arm, paid] = text.split(" ").map(Number);
          const size = Math.min(step - 0.6, 8);
          const place = { x: (x(t) + (step - size) / 2).toFixed(2), y: (GAP + arm * ROW + (ROW - 9) / 2).toFixed(2) };
          return svg("rect", { class: paid ? "paid" : "none", width: size.toFixed(2), height: 9, rx: 1.5, ...place });
        }),
      );
      setAttribute(picture, "aria-label", tell(`strip.${name}.said`, { pulls: done(), paid: sum(game.paid, done()) }));
    }
    const row = name === "snail" ? lookAt() : null;
    ground.replaceChildren(
      ...(row ?? []).flatMap((weight, k) => {
        if (k && weight < 0.004) return [];
        const box = k
          ? { x: x(k - 1).toFixed(2), y: 0, width: step.toFixed(2), height: arms * ROW + 2 * GAP, opacity: Math.sqrt(weight).toFixed(3) }
          : { x: LEFT - 7, y: 0, width: 5, height: arms * ROW + 2 * GAP, opacity: Math.sqrt(weight).toFixed(3) };
        return [svg("rect", { class: "look", ...box })];
      }),
    );
    const now = name === "snail" ? at() - 1 : -1;
    setAttribute(here, "d", now < 0 ? "" : `M${(x(now) + step / 2).toFixed(1)} 0V${arms * ROW + 2 * GAP}`);
  }

  function lookAt() {
    const looks = Object.values(seen.looks)[blockNow()];
    return looks ? looks[at() - 1] : null;
  }

  function gameOf(name) {
    if (name !== "you") return seen.game[name];
    const own = get("pulls");
    return { arms: own, paid: own.map((arm, t) => seen.pays[t][arm]) };
  }

  // ------------------------------------------------------------------ what it says

  const scores = PLAYERS.map((name) => {
    const value = h("b", null);
    return { name, value, element: h("li", null, h("span", null, tell(`player.${name}`)), value) };
  });
  const board = h("ul", { class: "heed-bandit-board" }, scores.map(({ element }) => element));
  const result = h("p", { class: "heed-verdict", "aria-live": "polite" });
  const says = h("p", { class: "heed-says", "aria-live": "polite" });
  const status = h("p", { class: "heed-status", role: "status" });
  const caption = h("caption", null);
  const body = h("tbody", null);
  const heads = h("tr", null);
  const numbers = h(
    "details",
    { class: "heed-numbers" },
    h("summary", null, tell("numbers.open")),
    h("div", { class: "heed-scroll", tabindex: 0 }, h("table", null, caption, h("thead", null, heads), body)),
  );
  numbers.addEventListener("toggle", () => draw());
  const hint = h("p", { class: "heed-note" }, tell("hint"));
  const moves = group(tell("moves"), more.element, rest.element, again.element, another.element, reset.element);
  replace(
    el,
    h(
      "div",
      { class: "heed-sheet heed-bandit" },
      table,
      result,
      moves,
      board,
      hint,
      boxes,
      h("div", { class: "heed-bandit-time" }, when.element, which, how.element),
      says,
      legend,
      status,
      numbers,
    ),
  );
  for (const each of [moves, hint]) each.hidden = asleep;
  how.disabled = asleep;

  // ------------------------------------------------------------------ drawing

  function read(answer) {
    const digits = (text) => Array.from(text, Number);
    const game = Object.fromEntries(
      Object.entries(answer.players).map(([name, { arms: list, paid }]) => [name, { arms: digits(list), paid: digits(paid) }]),
    );
    const p = unpacked(answer.probabilities);
    const probabilities = every.length ? game.snail.arms.map((_, t) => Array.from(p.slice(t * arms, (t + 1) * arms), (b) => b / 255)) : [];
    const looks = Object.fromEntries(
      Object.entries(answer.looks).map(([name, content]) => {
        const bytes = unpacked(content);
        let from = 0;
        const rows = game.snail.arms.map((_, t) => Array.from(bytes.slice(from, (from += t + 1)), (b) => b / 255));
        return [name, rows];
      }),
    );
    return { count: answer.count, p: answer.p, pays: answer.pays.map(digits), game, probabilities, looks };
  }

  function draw() {
    const answer = get("answer");
    el.firstChild.setAttribute("aria-busy", String(expecting(model, ASKED)));
    const failed = answer?.message === "failed";
    setText(status, failed ? tell("failed") : "");
    status.hidden = !failed;
    if (answer?.pays && seen?.count !== answer.count) seen = read(answer);
    if (!seen) return;
    drawArms();
    drawBoard();
    drawBlocks();
    strips.forEach(drawStrip);
    drawControls();
    if (numbers.open) list();
    clearTimeout(timer);
    timer = setTimeout(() => setText(says, spoken()), says.textContent ? THROTTLE : 0);
  }

  function tally(name, arm) {
    const { arms: list, paid } = gameOf(name);
    const own = list.slice(0, done()).flatMap((each, t) => (each === arm ? [paid[t]] : []));
    return { pulls: own.length, paid: sum(own, own.length) };
  }

  function drawArms() {
    const next = seen.probabilities[at() - 1];
    const best = largest(seen.p);
    cards.forEach(({ press, yours, its, bar, next: text, truth, element }, arm) => {
      press.disabled = asleep || over() || expecting(model, ASKED);
      setText(yours, tell("tally.you", tally("you", arm)));
      setText(its, tell("tally.snail", tally("snail", arm)));
      setProperty(bar, "--part", (next[arm] ?? 0).toFixed(3));
      setText(text, share(next[arm]));
      bar.title = tell("next.help");
      setText(truth, over() ? tell("truth", { p: share(seen.p[arm]) }) : tell("truth.hidden"));
      element.classList.toggle("heed-bandit-best", over() && arm === best);
      element.classList.toggle("heed-bandit-last", get("pulls").at(-1) === arm);
    });
  }

  function drawBoard() {
    for (const { name, value } of scores) setText(value, String(sum(gameOf(name).paid, done())));
    const last = get("pulls").at(-1);
    if (over()) setText(result, ending());
    else if (!done()) setText(result, tell("begin", { pulls: whole }));
    else {
      const paid = gameOf("you").paid.at(-1);
      setText(result, tell(paid ? "paid" : "none", { pull: done(), pulls: whole, arm: last + 1 }));
    }
    result.classList.toggle("heed-right", done() > 0 && !over() && gameOf("you").paid.at(-1) === 1);
  }

  function ending() {
    const best = largest(seen.p);
    const own = Object.fromEntries(PLAYERS.map((name) => [name, sum(gameOf(name).paid, whole)]));
    return tell("end", { ...own, best: sum(seen.pays.map((row) => row[best]), whole), arm: best + 1 });
  }

  function spoken() {
    const t = at();
    const p = seen.probabilities[t - 1];
    const likely = loudest(p, { least: SEEN, most: 3 }).map(([arm, weight]) => tell("says.arm", { arm: arm + 1, share: share(weight) }));
    const told = tell(t > done() ? "says.next" : "says.then", { pull: t, arms: likely.join(", ") });
    const row = lookAt();
    if (!row) return told;
    const looks = loudest(row, { least: SEEN, most: 3 }).map(([k, weight]) => tell("says.look", { what: keyName(k), weight: share(weight) }));
    const name = Object.keys(seen.looks)[blockNow()];
    return `${told} ${looks.length ? tell("says.looks", { block: name, looks: looks.join(", ") }) : tell("says.spread", { block: name })}`;
  }

  function keyName(k) {
    if (!k) return tell("beginning");
    const { arms: list, paid } = seen.game.snail;
    return tell(paid[k - 1] ? "key.paid" : "key.none", { pull: k, arm: list[k - 1] + 1 });
  }

  function drawControls() {
    more.disabled = !done() || over();
    rest.disabled = over();
    again.disabled = !done();
    reset.disabled = SETTINGS.every((name) => same(get(name), first[name]));
    how.value = get("likeliest");
    when.max = Math.min(done() + 1, whole);
    when.value = at();
  }

  function list() {
    const names = Object.keys(seen.looks);
    const t = at();
    const { arms: own, paid } = seen.game.snail;
    const lines = Array.from({ length: t }, (_, k) => [
      k ? k : "∅",
      k ? own[k - 1] + 1 : "–",
      k ? (paid[k - 1] ? "✓" : "✗") : "–",
      ...names.map((name) => share(seen.looks[name][t - 1][k])),
    ]);
    setText(caption, tell("numbers", { pull: t }));
    if (same([names, lines], listed)) return;
    listed = [names, lines];
    replace(heads, ["pull", "arm.head", "paid.head"].map((key) => h("th", { scope: "col" }, tell(key))), names.map((name) => h("th", { scope: "col" }, name)));
    replace(body, lines.map(([name, ...cells]) => h("tr", null, h("th", { scope: "row" }, name), cells.map((cell) => h("td", null, cell)))));
  }

  // ------------------------------------------------------------------ life

  const stopFitting = fitted(boxes[0], (width) => {
    wide = width;
    draw();
  });
  for (const name of WATCHED) model.on(`change:${name}`, draw);
  draw();
  return () => {
    for (const name of WATCHED) model.off(`change:${name}`, draw);
    stopFitting();
    clearTimeout(timer);
    ask.stop();
  };
}

function sum(list, count) {
  return list.slice(0, count).reduce((a, b) => a + b, 0);
}
