// A sentence as a line of words, each a button: one tab stop, arrow keys inside.
//
//   wordLine({label, lang, saysId, onAt, onAway, onPick, onAcross})
//       -> {element, draw, tint, light, focus, stop, word, indexOf}
//       saysId: the line that says what a word is about, read out with it
//       onAt(i): the pointer or the focus is on word i; onAway(): on none any more
//       onPick(i): click, tap, Enter or space; onAcross(i, way): arrow up (−1) or down (1)
//       draw(words): [{text, said, marks: ["unknown", …], pressed: true | false | undefined}]
//       tint(weights): a share of colour for each word, and the number beneath it; null takes it away
//       light(i): word i is the one that is spoken of; −1 for none
//       stop(i): the word that Tab arrives at
//       focus(i): put the keyboard there; word(i) -> its button; indexOf(button) -> i

import {h, setAttribute, setProperty, setText} from "./dom.js";

const STEPS = { ArrowLeft: -1, ArrowRight: 1 };
const ACROSS = { ArrowUp: -1, ArrowDown: 1 };

export function wordLine({ label, lang, saysId, onAt, onAway, onPick, onAcross }) {
  const buttons = [];
  let shown = 0;
  let current = 0;

  const indexOf = (event) => buttons.indexOf(event.target.closest("button"));
  const on = {
    pointerover: (event) => {
      const i = indexOf(event);
      if (i >= 0 && event.pointerType === "mouse") onAt(i);
    },
    pointerleave: (event) => event.pointerType === "mouse" && onAway(),
    focusin: (event) => {
      const i = indexOf(event);
      if (i < 0) return;
      rove(i);
      onAt(i);
    },
    focusout: (event) => element.contains(event.relatedTarget) || onAway(),
    click: (event) => {
      const i = indexOf(event);
      if (i >= 0) onPick(i);
    },
    keydown: (event) => {
      const i = indexOf(event);
      if (i < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.key in STEPS) focus(i + STEPS[event.key]);
      else if (event.key === "Home") focus(0);
      else if (event.key === "End") focus(shown - 1);
      else if (event.key in ACROSS) onAcross(i, ACROSS[event.key]);
      else return;
      event.preventDefault();
    },
  };
  const element = h("div", { class: "heed-words", role: "toolbar", "aria-label": label, lang, on });

  function rove(i) {
    if (buttons[current] && current !== i) buttons[current].tabIndex = -1;
    current = i;
    if (buttons[current]) setAttribute(buttons[current], "tabindex", 0);
  }

  function focus(i) {
    if (!shown) return;
    rove(Math.max(0, Math.min(i, shown - 1)));
    buttons[current].focus();
  }

  function draw(words) {
    while (buttons.length < words.length) {
      const button = h("button", { type: "button", dir: "auto", tabindex: "-1" });
      if (saysId) button.setAttribute("aria-describedby", saysId);
      buttons.push(button);
      element.append(button);
    }
    shown = words.length;
    // Words beyond the sentence leave the page, and the focus goes to the last one that is left.
    const lost = buttons.slice(shown).includes(document.activeElement);
    for (const button of buttons.splice(shown)) button.remove();
    words.forEach(({ text, said, marks, pressed }, i) => {
      const button = buttons[i];
      setText(button, text);
      const waiting = button.classList.contains("heed-unwritten") ? ["heed-unwritten"] : [];
      const names = ["heed-token", ...marks.map((mark) => `heed-is-${mark}`), ...waiting];
      setAttribute(button, "class", names.join(" "));
      setAttribute(button, "aria-label", said);
      if (pressed === undefined) button.removeAttribute("aria-pressed");
      else setAttribute(button, "aria-pressed", pressed);
    });
    if (current >= shown) rove(Math.max(0, shown - 1));
    else rove(current);
    if (lost) focus(shown - 1);
  }

  function tint(weights) {
    buttons.forEach((button, i) => {
      const weight = weights ? weights[i] ?? 0 : 0;
      setProperty(button, "--weight", Math.round(weight * 100));
      if (weight >= 0.05) button.dataset.weight = weight.toFixed(2);
      else delete button.dataset.weight;
    });
  }

  const light = (place) =>
    buttons.forEach((button, i) => button.classList.toggle("heed-lit", i === place));

  return {
    element,
    draw,
    tint,
    light,
    focus,
    stop: rove,
    word: (i) => buttons[i],
    indexOf: (button) => buttons.indexOf(button),
  };
}
