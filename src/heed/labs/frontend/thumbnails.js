// Small maps of all heads of a place, a row a layer: one is chosen, each can be switched off.
//
//   thumbnails({tell, onPick, onSwitch}) -> {element, draw}
//       onPick(layer, head)      click, tap, or arrow keys, which choose as they move: up and down
//                                from layer to layer, left and right from head to head
//       onSwitch(layer, head)    the switch under a map
//       draw({layers, heads, maps, chosen, isOff, locked})
//           maps: [layer][head] -> rows of shares; a row that is too short ends where there is
//           nothing yet to be looked at; chosen: [layer, head]; isOff(layer, head) -> boolean;
//           locked: the switches show, and nobody can move them
//
// Two tab stops: the chosen map, and its switch. Layers and heads count from 1.

import {h, replace, setAttribute} from "./dom.js";
import {colour} from "./palette.js";

const STEPS = {
  ArrowLeft: () => -1,
  ArrowRight: () => 1,
  ArrowUp: (heads) => -heads,
  ArrowDown: (heads) => heads,
};

export function thumbnails({ tell, onPick, onSwitch }) {
  const element = h("div", { class: "heed-thumbnails", role: "group", "aria-label": tell("grid") });
  let grid = []; // grid[layer − 1][head − 1]: {box, map, canvas, input}

  function make(layer, head) {
    const canvas = h("canvas", { "aria-hidden": "true", width: 1, height: 1 });
    const map = h(
      "button",
      { type: "button", class: "heed-thumbnail", on: { click: () => onPick(layer, head) } },
      canvas,
    );
    const input = h("input", {
      type: "checkbox",
      role: "switch",
      class: "heed-switch",
      "aria-label": tell("on", { layer, head }),
      on: {
        change: () => {
          input.checked = !input.checked; // it shows what the settings say
          onSwitch(layer, head);
        },
      },
    });
    const move = (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || !(event.key in STEPS)) return;
      const heads = grid[0].length;
      const place = (layer - 1) * heads + head - 1 + STEPS[event.key](heads);
      event.preventDefault();
      event.stopPropagation();
      const to = grid.flat()[place];
      if (!to) return;
      onPick(Math.floor(place / heads) + 1, (place % heads) + 1);
      (event.currentTarget === map ? to.map : to.input).focus();
    };
    map.addEventListener("keydown", move);
    input.addEventListener("keydown", move);
    const number = h("span", { "aria-hidden": "true" }, String(head));
    const box = h("div", { class: "heed-head" }, map, h("label", null, input, number));
    return { box, map, canvas, input };
  }

  function reshape(layers, heads) {
    if (grid.length === layers && grid[0]?.length === heads) return;
    grid = Array.from({ length: layers }, (_, i) =>
      Array.from({ length: heads }, (_, j) => make(i + 1, j + 1)),
    );
    element.style.setProperty("--heads", heads);
    replace(
      element,
      grid.map((row, i) => {
        const label = tell("layer", { layer: i + 1 });
        return h(
          "div",
          { class: "heed-layer", role: "group", "aria-label": label },
          h("span", { class: "heed-layer-name", "aria-hidden": "true" }, label),
          row.map((each) => each.box),
        );
      }),
    );
  }

  function draw({ layers, heads, maps, chosen, isOff, locked }) {
    reshape(layers, heads);
    grid.forEach((row, i) =>
      row.forEach(({ box, map, canvas, input }, j) => {
        const [layer, head] = [i + 1, j + 1];
        const [here, off] = [layer === chosen[0] && head === chosen[1], isOff(layer, head)];
        box.classList.toggle("heed-head-off", off);
        setAttribute(map, "aria-pressed", here);
        setAttribute(map, "tabindex", here ? 0 : -1);
        setAttribute(map, "aria-label", tell(off ? "one.off" : "one", { layer, head }));
        setAttribute(input, "tabindex", here ? 0 : -1);
        input.checked = !off;
        input.disabled = Boolean(locked);
        paint(canvas, maps[i]?.[j] ?? []);
      }),
    );
  }

  return { element, draw };
}

// A pixel a weight; where there is nothing to be looked at, none.
function paint(canvas, rows) {
  const [wide, high] = [Math.max(1, ...rows.map((row) => row.length)), Math.max(1, rows.length)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  const brush = canvas.getContext("2d");
  const picture = brush.createImageData(wide, high);
  rows.forEach((row, i) =>
    row.forEach((weight, j) => {
      const shade = parseInt(colour(weight ?? 0).background.slice(1), 16);
      picture.data.set([shade >> 16, (shade >> 8) & 255, shade & 255, 255], 4 * (i * wide + j));
    }),
  );
  brush.putImageData(picture, 0, 0);
}
