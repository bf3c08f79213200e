// What a reader moves. Each is -> {element, value (get and set), disabled (set)}; setting a value
// calls nobody. onInput(value) is called when the reader changes it.
//
//   slider({label, min, max, step, value, format, help, onInput})    .value number, also .max (set).
//                                                 One that was set between its steps, or beyond its
//                                                 ends, is shown as it is, wherever the thumb stands
//   choice({label, options: [{value, label, help}], value, onInput}) .value one of the values
//   toggle({label, value, help, onInput})                            .value boolean
//   textBox({label, value, placeholder, lang, onInput})              .value string; 150 ms after the
//                                                 last key, at once on Enter or when it loses the focus
//                                                 .stop(): it tells nothing any more
//   button({label, title, quiet, onPress})                           .label (set), .pressed (set)
//   group(label, ...elements) -> element          controls that belong together, under one name

import {h, replace, setText, unique} from "./dom.js";

const PAUSE = 150;

export function slider({ label, min, max, step, value, format = String, help, onInput }) {
  const id = unique("slider");
  const input = h("input", { id, type: "range", class: "heed-range", min, max, step });
  const shown = h("output", { class: "heed-value", for: id });
  let now = value;
  const show = () => {
    const [low, high] = [Number(input.min), Number(input.max)];
    const part = high > low ? (Number(input.value) - low) / (high - low) : 0;
    input.style.setProperty("--part", part);
    setText(shown, format(now));
    input.setAttribute("aria-valuetext", shown.textContent);
  };
  input.addEventListener("input", () => {
    now = Number(input.value);
    show();
    onInput?.(now);
  });
  const element = h(
    "div",
    { class: "heed-control heed-slider" },
    h("label", { for: id }, label),
    input,
    shown,
    described(help, input),
  );
  input.value = value;
  show();
  return {
    element,
    get value() {
      return now;
    },
    set value(next) {
      input.value = now = next;
      show();
    },
    set max(next) {
      input.max = next;
      now = Math.min(now, next);
      show();
    },
    set disabled(off) {
      input.disabled = off;
    },
  };
}

export function choice({ label, options, value, onInput }) {
  const name = unique("choice");
  const inputs = options.map((option) =>
    h("input", {
      type: "radio",
      name,
      id: unique("option"),
      value: option.value,
      on: { change: () => onInput?.(option.value) },
    }),
  );
  const element = h(
    "fieldset",
    { class: "heed-control heed-choice" },
    h("legend", null, label),
    h(
      "div",
      { class: "heed-options" },
      options.map((option, i) =>
        h("label", { title: option.help }, inputs[i], h("span", null, option.label)),
      ),
    ),
  );
  const self = {
    element,
    get value() {
      const at = inputs.findIndex((input) => input.checked);
      return at < 0 ? undefined : options[at].value;
    },
    set value(next) {
      inputs.forEach((input, i) => (input.checked = options[i].value === next));
    },
    set disabled(off) {
      element.disabled = off;
    },
  };
  self.value = value;
  return self;
}

export function toggle({ label, value, help, onInput }) {
  const id = unique("toggle");
  const input = h("input", {
    id,
    type: "checkbox",
    class: "heed-switch",
    on: { change: () => onInput?.(input.checked) },
  });
  input.checked = Boolean(value);
  const element = h(
    "div",
    { class: "heed-control heed-toggle" },
    input,
    h("label", { for: id }, label),
    described(help, input),
  );
  return {
    element,
    get value() {
      return input.checked;
    },
    set value(next) {
      input.checked = Boolean(next);
    },
    set disabled(off) {
      input.disabled = off;
    },
  };
}

export function textBox({ label, value = "", placeholder, lang = "en", onInput }) {
  const id = unique("text");
  const input = h("textarea", {
    id,
    class: "heed-text",
    rows: 1,
    dir: "auto",
    lang,
    placeholder,
    spellcheck: "false",
    autocomplete: "off",
    autocapitalize: "off",
  });
  let timer = 0;
  let told = value;
  const fit = () => {
    if (CSS.supports("field-sizing", "content")) return;
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight + 2}px`;
  };
  let stopped = false;
  const tell = () => {
    clearTimeout(timer);
    if (stopped || input.value === told) return;
    told = input.value;
    onInput?.(told);
  };
  input.addEventListener("input", () => {
    fit();
    clearTimeout(timer);
    timer = setTimeout(tell, PAUSE);
  });
  input.addEventListener("blur", tell);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    tell();
  });
  input.value = value;
  return {
    element: h(
      "div",
      { class: "heed-control heed-textbox" },
      h("label", { for: id }, label),
      input,
    ),
    get value() {
      return input.value;
    },
    set value(next) {
      if (next === told) return; // an answer to what was told; what is typed since is not told yet
      clearTimeout(timer);
      told = next;
      if (input.value !== next) input.value = next;
      fit();
    },
    set disabled(off) {
      input.disabled = off;
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

export function button({ label, title, quiet = false, onPress }) {
  const element = h(
    "button",
    {
      type: "button",
      class: quiet ? "heed-button heed-quiet" : "heed-button",
      title,
      on: { click: () => onPress?.() },
    },
    label,
  );
  return {
    element,
    get value() {
      return element.getAttribute("aria-pressed") === "true";
    },
    set value(on) {
      element.setAttribute("aria-pressed", String(Boolean(on)));
    },
    set pressed(on) {
      element.setAttribute("aria-pressed", String(Boolean(on)));
    },
    set label(next) {
      replace(element, next);
    },
    set disabled(off) {
      element.disabled = off;
    },
  };
}

export function group(label, ...elements) {
  return h("div", { class: "heed-group", role: "group", "aria-label": label }, ...elements);
}

function described(help, input) {
  if (!help) return null;
  const note = h("small", { id: unique("help"), class: "heed-help" }, help);
  input.setAttribute("aria-describedby", note.id);
  return note;
}
