// The attention map: a table first, and a picture because its cells are coloured.
//
//   attentionMap({strings, label, own}) -> {element, draw(trace, marks), select, onCursor, onPick, focus,
//                                      cursor, stop}
//       own: where its words stand that are said in another way than those under "map."
//       trace = {query: [words that look], key: [words looked at], weights: [[0 … 1]]}, a row a query;
//                a row that is too short ends where there is nothing yet to be looked at
//       marks = {rings: [[row, column, "sure" | "possible" | "mine"], …],
//                hidden: [column, …],   nothing is looked at there: hatched, the word struck through
//                row: selected row or −1,
//                blank: true            the cells without their weights (predict, then reveal)
//                pick: true             cells can be picked (Enter, Space, click, tap)
//                heads: true            words can be picked too: row −1 is a source word's column,
//                                       column −1 a target word's row
//                unsure: [row, …]       target words in italics (an <unk>, a copied word)
//                unknown: [column, …]}  source words in italics: the model does not know them
//       select(row)                     another selected row, and all else as it was drawn last
//       onCursor(heard), onPick(heard)  heard(row, column); the cursor is also where the mouse is;
//                                       (−1, −1) when it leaves. −1 stands for the words, see heads.
//       focus(row, column)              put the keyboard there
//       cursor                          [row, column] of the cursor or null
//       stop()                          for the view's clean-up: nothing is said after it
//
// One tab stop. Arrow keys move, Home and End go to the ends of a row, with Ctrl to the ends of the
// map. A line under the map says what the cursor's row looks at.

import {h, replace, setProperty, setText, unique} from "./dom.js";
import {colour} from "./palette.js";
import {sayer, share} from "./say.js";
import {same} from "./store.js";

const WRITTEN = 0.05; // smaller weights are left to the colour
const SPOKEN = 3;
const THROTTLE = 250;
const LARGE = 24; // words a side, from which cells are small

export function attentionMap({ strings, label, own = "map" }) {
  const [ours, others] = [sayer(strings, own), sayer(strings, "map")];
  const tell = (key, values) => (`${own}.${key}` in strings ? ours : others)(key, values);
  const heads = h("tr", null);
  const body = h("tbody", null);
  const corner = h(
    "td",
    { class: "heed-corner" },
    h("span", { class: "heed-axis-key" }, tell("key")),
    h("span", { class: "heed-axis-query" }, tell("query")),
  );
  heads.append(corner);
  const saysId = unique("says");
  const table = h(
    "table",
    { class: "heed-cells", role: "grid", "aria-label": label, "aria-describedby": saysId },
    h("caption", null, label),
    h("thead", null, heads),
    body,
  );
  const rowBand = h("div", { class: "heed-band", "aria-hidden": "true", hidden: true });
  const columnBand = h("div", { class: "heed-band", "aria-hidden": "true", hidden: true });
  const stage = h("div", { class: "heed-stage" }, table, rowBand, columnBand);
  const scroll = h("div", { class: "heed-scroll" }, stage);
  const says = h("p", { class: "heed-says", id: saysId, "aria-live": "polite" });
  const legend = h(
    "p",
    { class: "heed-legend", "aria-hidden": "true" },
    h("span", null, "0"),
    h("span", { class: "heed-scale" }),
    h("span", null, "1"),
    h("span", { class: "heed-legend-word" }, tell("weight")),
  );
  const numbers = numberTable(tell);
  const element = h(
    "div",
    { class: "heed-map" },
    scroll,
    h("div", { class: "heed-under" }, says, legend),
    numbers.element,
  );

  let trace = { query: [], key: [], weights: [] };
  let marks = {};
  let cells = []; // cells[row][column]; what is drawn in each stands in `shown`
  let shown = [];
  let rowHeads = [];
  let columnHeads = [];
  let stop = null; // the cell that Tab arrives at
  let cursor = null; // where the keyboard or the mouse is
  const heard = { cursor: new Set(), pick: new Set() };

  // ------------------------------------------------------------------ drawing

  const head = (scope, row, column) => {
    const word = h("span", { class: "heed-word" });
    const cell = h("th", { scope, tabindex: -1, "data-row": row, "data-column": column }, word);
    return cell;
  };

  function reshape(rows, columns) {
    const [oldRows, oldColumns] = [rowHeads.length, columnHeads.length];
    if (rows === oldRows && columns === oldColumns) return;
    for (const cell of columnHeads.splice(columns)) cell.remove();
    while (columnHeads.length < columns) {
      const cell = head("col", -1, columnHeads.length);
      columnHeads.push(cell);
      heads.append(cell);
    }
    for (const cell of rowHeads.splice(rows)) cell.parentNode.remove();
    cells.length = shown.length = Math.min(rows, oldRows);
    cells.forEach((row, i) => {
      for (const cell of row.splice(columns)) cell.remove();
      shown[i].length = Math.min(columns, oldColumns);
    });
    while (rowHeads.length < rows) {
      const cell = head("row", rowHeads.length, -1);
      rowHeads.push(cell);
      cells.push([]);
      shown.push([]);
      body.append(h("tr", null, cell));
    }
    cells.forEach((row, i) => {
      while (row.length < columns) {
        const cell = h("td", { tabindex: -1, "data-row": i, "data-column": row.length });
        row.push(cell);
        shown[i].push({ kind: "", shade: null, text: "", weight: undefined });
        rowHeads[i].parentNode.append(cell);
      }
    });
    setProperty(element, "--columns", columns);
    element.classList.toggle("heed-large", Math.max(rows, columns) > LARGE);
    if (stop && !stop.isConnected) stop = null;
    if (cursor && !at(...cursor)) cursor = null;
  }

  function draw(nextTrace, nextMarks = {}) {
    trace = nextTrace;
    marks = nextMarks;
    const { query, key, weights } = trace;
    reshape(query.length, key.length);
    setProperty(element, "--longest", Math.max(3, ...key.map((word) => word.length)));
    const hidden = new Set(marks.hidden);
    const unknown = new Set(marks.unknown);
    const unsure = new Set(marks.unsure);
    columnHeads.forEach((cell, j) => {
      name(cell, key[j]);
      cell.classList.toggle("heed-hidden", hidden.has(j));
      cell.classList.toggle("heed-unknown", unknown.has(j));
      cell.classList.toggle("heed-pickable", Boolean(marks.heads));
    });
    rowHeads.forEach((cell, i) => {
      name(cell, query[i]);
      cell.classList.toggle("heed-unknown", unsure.has(i));
      cell.classList.toggle("heed-pickable", Boolean(marks.heads));
    });
    mark(marks.row);
    const rings = new Map((marks.rings ?? []).map(([i, j, kind]) => [`${i},${j}`, kind]));
    for (let i = 0; i < query.length; i += 1) {
      for (let j = 0; j < key.length; j += 1) {
        const never = Boolean(weights[i]) && j >= weights[i].length;
        const weight = marks.blank || never ? null : (weights[i]?.[j] ?? 0);
        paint(i, j, weight, hidden.has(j), never ? "never" : (rings.get(`${i},${j}`) ?? ""));
      }
    }
    table.classList.toggle("heed-blank", Boolean(marks.blank));
    table.classList.toggle("heed-picking", Boolean(marks.pick));
    legend.hidden = Boolean(marks.blank);
    scroll.hidden = !query.length || !key.length;
    numbers.draw(trace, marks);
    if (!stop && cells[0]?.[0]) setStop(cells[0][0]);
    // Where the cells lie is known when the browser has laid them out, which it does once a frame.
    if (cursor) requestAnimationFrame(highlight);
    else highlight();
    speak();
  }

  function mark(row) {
    rowHeads.forEach(({ parentNode }, i) => parentNode.classList.toggle("heed-selected", row === i));
  }

  function select(row) {
    marks = { ...marks, row };
    mark(row);
    speak();
  }

  // A mark is a kind of ring, or "never" where nothing can be looked at.
  function paint(i, j, weight, hidden, mark) {
    const cell = cells[i][j];
    const ring = mark && mark !== "never" ? "heed-ring " : "";
    const kind = `${hidden ? "heed-hidden " : ""}${ring}${mark ? `heed-${mark}` : ""}`.trim();
    const shade = weight === null || hidden ? null : colour(weight);
    const text = shade && weight >= WRITTEN ? short(weight) : "";
    const number = weight?.toFixed(4);
    const before = shown[i][j];
    if (before.kind !== kind) cell.className = kind;
    if (before.shade !== shade) {
      if (shade) cell.style.cssText = `background-color:${shade.background};color:${shade.ink}`;
      else cell.removeAttribute("style");
    }
    if (before.text !== text) setText(cell, text);
    if (before.weight !== number) {
      if (number === undefined) delete cell.dataset.weight;
      else cell.dataset.weight = number;
    }
    shown[i][j] = { kind, shade, text, weight: number };
  }

  function name(cell, word) {
    const text = cell.firstChild;
    if (text.textContent === word) return;
    setText(text, word);
    cell.title = word.length > 10 ? word : "";
  }

  // ------------------------------------------------------------------ cursor

  function at(row, column) {
    if (row < 0) return columnHeads[column];
    return column < 0 ? rowHeads[row] : cells[row]?.[column];
  }

  function setStop(cell) {
    if (stop) stop.tabIndex = -1;
    stop = cell;
    cell.tabIndex = 0;
  }

  function moveTo(place) {
    if (place?.join() === cursor?.join()) return;
    cursor = place;
    highlight();
    speak();
    for (const each of heard.cursor) each(...(place ?? [-1, -1]));
  }

  function highlight() {
    const [row, column] = cursor ?? [-1, -1];
    const first = cells[0]?.[0];
    const boxes = first ? [rowBox(row), columnBox(column)] : [null, null]; // read before it is written
    rowHeads.forEach((cell, i) => cell.classList.toggle("heed-on", i === row));
    columnHeads.forEach((cell, j) => cell.classList.toggle("heed-on", j === column));
    [rowBand, columnBand].forEach((band, i) => {
      band.hidden = !boxes[i];
      for (const [side, value] of Object.entries(boxes[i] ?? {})) band.style[side] = `${value}px`;
    });
  }

  function rowBox(row) {
    if (row < 0) return null;
    const { offsetTop: top, offsetHeight: height } = rowHeads[row];
    return { top, height, ...across(cells[row][0], cells[row].at(-1)) };
  }

  function columnBox(column) {
    if (column < 0) return null;
    const [first, last] = [cells[0][column], cells.at(-1)[column]];
    const { offsetTop: top } = first;
    return { top, height: last.offsetTop + last.offsetHeight - top, ...across(first, first) };
  }

  function across({ offsetLeft: left }, last) {
    return { left, width: last.offsetLeft + last.offsetWidth - left };
  }

  function show(cell) {
    const left = cell.offsetLeft - rowHeads[0].offsetWidth - 4;
    const right = cell.offsetLeft + cell.offsetWidth + 4 - scroll.clientWidth;
    if (scroll.scrollLeft > left) scroll.scrollLeft = left;
    else if (scroll.scrollLeft < right) scroll.scrollLeft = right;
  }

  function focus(row, column) {
    const cell = at(row, column);
    if (!cell) return;
    setStop(cell);
    cell.focus({ preventScroll: cell.tagName === "TD" && inView(cell) });
    if (column >= 0) show(cell);
    moveTo([row, column]);
  }

  function place(target) {
    const cell = target instanceof Element ? target.closest("[data-row]") : null;
    return cell && table.contains(cell)
      ? [Number(cell.dataset.row), Number(cell.dataset.column)]
      : null;
  }

  function pick(row, column) {
    if (row < 0 || column < 0 ? !marks.heads : !marks.pick) return;
    for (const each of heard.pick) each(row, column);
  }

  table.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch") moveTo(place(event.target));
  });
  table.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") moveTo(place(document.activeElement));
  });
  table.addEventListener("focusin", (event) => moveTo(place(event.target)));
  table.addEventListener("focusout", (event) => {
    if (!table.contains(event.relatedTarget)) moveTo(null);
  });
  table.addEventListener("click", (event) => {
    const found = place(event.target);
    if (!found) return;
    focus(...found);
    pick(...found);
  });
  table.addEventListener("keydown", (event) => {
    const found = place(event.target);
    if (!found || event.altKey || event.metaKey) return;
    const next = stepped(event, ...found, cells.length, columnHeads.length);
    if (next) focus(...next);
    else if (event.key === "Enter" || event.key === " ") pick(...found);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  // ------------------------------------------------------------------ the spoken line

  let timer = 0;
  let last = 0;

  function speak() {
    clearTimeout(timer);
    const wait = Math.max(0, last + THROTTLE - performance.now());
    if (wait) timer = setTimeout(speakNow, wait);
    else speakNow();
  }

  function speakNow() {
    last = performance.now();
    setText(says, sentence());
  }

  function sentence() {
    const { query, key, weights } = trace;
    if (!query.length || !key.length) return "";
    const [row, column] = cursor ?? [marks.row ?? -1, -1];
    if (marks.blank) {
      return row >= 0 && column >= 0
        ? tell("cell", { query: query[row], key: key[column] })
        : tell(marks.pick ? "hint.pick" : "hint");
    }
    if (row >= 0) {
      const order = best(weights[row]);
      const looks = [...(column >= 0 ? [column] : []), ...order.filter((j) => j !== column)]
        .slice(0, SPOKEN)
        .map((j) => tell("look", { key: key[j], weight: share(weights[row][j]) }));
      return tell("row", { query: query[row], looks: looks.join(", ") });
    }
    if (column >= 0) {
      const given = weights.map((each) => each[column] ?? 0);
      const looks = best(given).map((i) =>
        tell("look", { key: query[i], weight: share(given[i]) }),
      );
      return looks.length
        ? tell("column", { key: key[column], looks: looks.join(", ") })
        : tell("nobody", { key: key[column] });
    }
    return tell("hint");
  }

  return {
    element,
    draw,
    select,
    focus,
    stop: () => clearTimeout(timer),
    onCursor: (each) => heard.cursor.add(each),
    onPick: (each) => heard.pick.add(each),
    get cursor() {
      return cursor;
    },
  };
}

// The largest weights that are worth a word, largest first.
function best(weights = []) {
  return weights
    .map((weight, i) => [weight, i])
    .filter(([weight]) => weight >= WRITTEN)
    .sort(([a], [b]) => b - a)
    .slice(0, SPOKEN)
    .map(([, i]) => i);
}

function short(weight) {
  const text = share(weight);
  return text === "1.00" ? "1" : text.slice(1);
}

function inView(cell) {
  const { top, bottom } = cell.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}

function stepped({ key, ctrlKey }, row, column, rows, columns) {
  const within = (i, j) => {
    const [a, b] = [Math.max(-1, Math.min(i, rows - 1)), Math.max(-1, Math.min(j, columns - 1))];
    return a < 0 && b < 0 ? [row, column] : [a, b];
  };
  if (key === "ArrowUp") return within(row - 1, column);
  if (key === "ArrowDown") return within(row + 1, column);
  if (key === "ArrowLeft") return within(row, column - 1);
  if (key === "ArrowRight") return within(row, column + 1);
  if (key === "Home") return within(ctrlKey ? 0 : row, 0);
  if (key === "End") return within(ctrlKey ? rows - 1 : row, columns - 1);
  if (key === "PageUp") return within(Math.max(row - 5, Math.min(row, 0)), column);
  if (key === "PageDown") return within(row + 5, column);
  return null;
}

// The same numbers as plain text, to read and to copy. Made when it is opened.
function numberTable(tell) {
  const table = h("table", null);
  const note = h("span", { role: "status", class: "heed-note" });
  const copy = h("button", { type: "button", class: "heed-button heed-quiet" }, tell("copy"));
  const box = h("div", { class: "heed-scroll", tabindex: 0, role: "region" }, table);
  box.setAttribute("aria-label", tell("numbers"));
  const element = h(
    "details",
    { class: "heed-numbers" },
    h("summary", null, tell("numbers")),
    h("p", null, copy, note),
    box,
  );
  let trace = { query: [], key: [], weights: [] };
  let filled = null; // the trace that stands in the table

  const fill = () => {
    if (!element.open || same(filled, trace)) return;
    filled = trace;
    const cell = (weight) => h("td", null, (weight ?? 0).toFixed(4));
    replace(
      table,
      h("caption", null, tell("numbers.caption")),
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("td", null),
          trace.key.map((word) => h("th", { scope: "col" }, word)),
        ),
      ),
      h(
        "tbody",
        null,
        trace.query.map((word, i) =>
          h(
            "tr",
            null,
            h("th", { scope: "row" }, word),
            trace.key.map((_, j) => cell(trace.weights[i]?.[j])),
          ),
        ),
      ),
    );
  };
  const asText = () => {
    const rows = trace.query.map((word, i) =>
      [word, ...trace.key.map((_, j) => (trace.weights[i]?.[j] ?? 0).toFixed(4))].join("\t"),
    );
    return [["", ...trace.key].join("\t"), ...rows].join("\n");
  };
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(asText());
      setText(note, tell("copied"));
    } catch {
      const range = document.createRange();
      range.selectNodeContents(table);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      setText(note, tell("selected"));
    }
  });
  element.addEventListener("toggle", fill);
  return {
    element,
    draw(next, { blank = false }) {
      if (note.textContent && !same(trace, next)) setText(note, "");
      trace = next;
      element.hidden = blank || !next.query.length || !next.key.length;
      fill();
    },
  };
}
