// Where z is, and where a look falls; the twins of functions in heed/labs/twins.py. A test compares
// them.
//
//   latent(seed, x, y, width) -> Float32Array     z = (z₀ + x u + y v) / √(1 + x² + y²)
//   pointed(point, things, side) -> the pixel of a map; LEFT and RIGHT are the middles of the things
//   placesIn(box, side) -> [place]                those of a map whose middle is in a box
//   fogOf(weights) -> [0 … THICK]                 what hides each place: nothing where the most is
//   hueName(hue) -> 0 … 11                        the nearest of twelve names

import {mulberry32} from "./steering.js";

export const LEFT = -1;
export const RIGHT = -2;
export const SIDE = 32;
const THICK = 0.75;

export function latent(seed, x, y, width) {
  const random = mulberry32(seed);
  const normal = () => {
    const far = Math.sqrt(-2 * Math.log(1 - random()));
    return far * Math.cos(2 * Math.PI * random());
  };
  const [z0, u, v] = [0, 1, 2].map(() => Float32Array.from({ length: width }, normal));
  const long = Math.sqrt(1 + x * x + y * y);
  return z0.map((from, i) => (from + x * u[i] + y * v[i]) / long);
}

export function pointed(point, things, side) {
  if (point !== LEFT && point !== RIGHT) return Math.min(point, side * side - 1);
  const [top, left, bottom, right] = things[point === LEFT ? 0 : 1].box;
  const [row, column] = [(top + bottom) / 2, (left + right) / 2].map((middle) =>
    Math.max(0, Math.min(side - 1, Math.floor((middle * side) / SIDE))),
  );
  return row * side + column;
}

export function placesIn([top, left, bottom, right], side) {
  const middle = (i) => ((i + 0.5) * SIDE) / side;
  const found = [];
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) {
      const [y, x] = [middle(row), middle(column)];
      if (top <= y && y <= bottom && left <= x && x <= right) found.push(row * side + column);
    }
  }
  return found;
}

export function fogOf(weights) {
  const most = Math.max(...weights, 1e-9);
  return weights.map((weight) => THICK * (1 - Math.sqrt((weight ?? 0) / most)));
}

export function hueName(hue) {
  return Math.floor(12 * hue + 0.5) % 12;
}
