// Drawings as texts: the twin of heed/labs/strokes.py, which says what a text means. A test compares
// them.
//
//   told(strokes) -> text                 points as [right, down], in pixels of a sheet of 28 × 28
//   strokesOf(text, stored) -> strokes    stored: [{name, drawings: [text]}]
//   characterOf(text) -> number or null   which stored character it is a drawing of
//   fitted(strokes) -> strokes            as large as in training, and as near to the middle
//   picture(text, stored) -> Float32Array of 28 · 28, ink from 0 to 1, as a network gets it
//   thinned(stroke) -> stroke             without points that change nothing
//   SIDE

export const SIDE = 28;
const STEPS = 8; // of a pixel
const [PEN, LEAST, MOST, OFF] = [1.6, 0.5 * SIDE, 0.85 * SIDE, 0.15 * SIDE];
const STRAY = 0.25; // pixels from a straight line that no eye sees

export function told(strokes) {
  const within = (x) => Math.min(Math.max(Math.floor(STEPS * x + 0.5), 0), STEPS * SIDE);
  const digits = (x) => within(x).toString(16).padStart(2, "0");
  const one = (stroke) => stroke.map(([x, y]) => digits(x) + digits(y)).join("");
  return strokes.filter((stroke) => stroke.length).map(one).join(" ");
}

export function characterOf(text) {
  return text.startsWith("@") ? Number(text.slice(1).split(".")[0]) : null;
}

export function strokesOf(text, stored) {
  let own = text;
  if (text.startsWith("@")) {
    const [character, drawing] = text.slice(1).split(".").map(Number);
    own = stored[character].drawings[drawing];
  }
  const number = (part, i) => parseInt(part.slice(i, i + 2), 16) / STEPS;
  return own
    .split(" ")
    .filter(Boolean)
    .map((part) => Array.from({ length: part.length / 4 }, (_, i) => [number(part, 4 * i), number(part, 4 * i + 2)]));
}

export function fitted(strokes) {
  const points = strokes.flat();
  if (!points.length) return [];
  const ends = [0, 1].map((axis) => {
    const own = points.map((point) => point[axis]);
    return [Math.min(...own), Math.max(...own)];
  });
  const size = Math.max(...ends.map(([low, high]) => high - low));
  const scale = size >= 1 ? Math.min(Math.max(size, LEAST), MOST) / size : 1;
  const middle = ends.map(([low, high]) => (low + high) / 2);
  const to = middle.map((each) => Math.min(Math.max(each, SIDE / 2 - OFF), SIDE / 2 + OFF));
  const moved = (point) => point.map((each, axis) => (each - middle[axis]) * scale + to[axis]);
  return strokes.map((stroke) => stroke.map(moved));
}

const KEPT = 400;
const kept = new Map();

export function picture(text, stored) {
  if (!kept.has(text)) {
    if (kept.size >= KEPT) kept.delete(kept.keys().next().value);
    kept.set(text, inked(fitted(strokesOf(text, stored))));
  }
  return kept.get(text);
}

// How far the middle of each pixel is from the nearest piece of a line decides how much ink it gets.
function inked(strokes) {
  const nearest = new Float64Array(SIDE * SIDE).fill(Infinity);
  for (const stroke of strokes) {
    stroke.forEach(([bx, by], i) => {
      if (!i && stroke.length > 1) return;
      const [ax, ay] = stroke[Math.max(i - 1, 0)];
      const [u, v] = [bx - ax, by - ay];
      const long = Math.max(u * u + v * v, 1e-12);
      for (let row = 0; row < SIDE; row += 1) {
        for (let column = 0; column < SIDE; column += 1) {
          const [x, y] = [column + 0.5 - ax, row + 0.5 - ay];
          const part = Math.min(Math.max((x * u + y * v) / long, 0), 1);
          const away = (x - part * u) ** 2 + (y - part * v) ** 2;
          const at = row * SIDE + column;
          if (away < nearest[at]) nearest[at] = away;
        }
      }
    });
  }
  return Float32Array.from(nearest, (away) => Math.min(Math.max(PEN / 2 + 0.5 - Math.sqrt(away), 0), 1));
}

/** Douglas & Peucker's way: of a piece only its ends stay if nothing strays far from the line between. */
export function thinned(stroke) {
  if (stroke.length < 3) return stroke;
  const [[ax, ay], [bx, by]] = [stroke[0], stroke.at(-1)];
  const [u, v] = [bx - ax, by - ay];
  const long = Math.max(u * u + v * v, 1e-12);
  let [most, at] = [0, 0];
  for (let i = 1; i < stroke.length - 1; i += 1) {
    const [x, y] = [stroke[i][0] - ax, stroke[i][1] - ay];
    const part = Math.min(Math.max((x * u + y * v) / long, 0), 1);
    const away = Math.hypot(x - part * u, y - part * v);
    if (away > most) [most, at] = [away, i];
  }
  if (most <= STRAY) return [stroke[0], stroke.at(-1)];
  return [...thinned(stroke.slice(0, at + 1)).slice(0, -1), ...thinned(stroke.slice(at))];
}
