// What must be behind the box; the twin of heed/layers/patches.py. A test compares both.
//
//   unpacked(sight) -> Float64Array    the picture that Python tells, colours from 0 to 1
//   content(picture, sight, number) -> the numbers of a patch, channel by channel, row by row
//   guessed(picture, sight, {hidden, temperature, mirror})
//       -> {weights, mirrored, guess, error, even}, as LookingLab answers
//   sight = {picture, rows, columns, patch, ring}

import {softmax} from "./numbers.js";

// Runs of bytes: how often, and what.
export function unpacked({ picture, rows, columns }) {
  const runs = atob(picture);
  const out = new Float64Array(3 * rows * columns);
  let at = 0;
  for (let i = 0; i < runs.length; i += 2) {
    const end = at + runs.charCodeAt(i);
    out.fill(runs.charCodeAt(i + 1) / 255, at, end);
    at = end;
  }
  return out;
}

const cut = new WeakMap(); // the contents of a picture's patches, as they stand and mirrored

function contents(picture, sight, count) {
  if (!cut.has(picture)) {
    const one = (_, k) => content(picture, sight, k % count, k >= count);
    cut.set(picture, Array.from({ length: 2 * count }, one));
  }
  return cut.get(picture);
}

export function content(picture, { rows, columns, patch }, number, mirror = false) {
  const [top, left] = corner(number, columns, patch);
  const out = new Float64Array(3 * patch * patch);
  let n = 0;
  for (let start = 0; start < picture.length; start += rows * columns) {
    for (let y = 0; y < patch; y += 1) {
      for (let x = 0; x < patch; x += 1, n += 1) {
        out[n] = picture[start + (top + y) * columns + left + (mirror ? patch - 1 - x : x)];
      }
    }
  }
  return out;
}

export function guessed(picture, sight, { hidden, temperature, mirror }) {
  const { rows, columns, patch } = sight;
  const [down, across] = [rows / patch, columns / patch];
  const count = down * across;
  const asked = asking(picture, sight, hidden);
  const near = (i) =>
    Math.abs(Math.floor(i / across) - Math.floor(hidden / across)) <= 1 &&
    Math.abs((i % across) - (hidden % across)) <= 1;
  const scores = Array.from({ length: 2 * count }, (_, k) => {
    const [i, turned] = [k % count, k >= count];
    if ((turned && !mirror) || near(i)) return -Infinity;
    return -difference(picture, sight, asked, i, turned) / temperature;
  });
  const shares = softmax(scores);
  const said = contents(picture, sight, count);
  const truth = said[hidden];
  const guess = new Float64Array(truth.length);
  const alike = new Float64Array(truth.length);
  const able = scores.filter((score) => score > -Infinity).length;
  scores.forEach((score, k) => {
    if (score === -Infinity) return;
    for (let n = 0; n < truth.length; n += 1) {
      guess[n] += shares[k] * said[k][n];
      alike[n] += said[k][n] / able;
    }
  });
  return {
    weights: shares.slice(0, count),
    mirrored: shares.slice(count),
    guess: Array.from(guess),
    error: error(guess, truth),
    even: error(alike, truth),
  };
}

function corner(number, columns, patch) {
  const across = columns / patch;
  return [Math.floor(number / across) * patch, (number % across) * patch];
}

// The pixels around a patch that the picture has: where from its corner, and what colours.
function asking(picture, { rows, columns, patch, ring }, hidden) {
  const [top, left] = corner(hidden, columns, patch);
  const [ys, xs, colours] = [[], [], []];
  for (let y = -ring; y < patch + ring; y += 1) {
    for (let x = -ring; x < patch + ring; x += 1) {
      if (y >= 0 && y < patch && x >= 0 && x < patch) continue;
      const [i, j] = [top + y, left + x];
      if (i < 0 || j < 0 || i >= rows || j >= columns) continue;
      const at = i * columns + j;
      ys.push(y);
      xs.push(x);
      for (let c = 0; c < 3; c += 1) colours.push(picture[c * rows * columns + at]);
    }
  }
  return { ys, xs, colours };
}

// The mean squared difference of two rings; infinite where one has no pixel that the other has.
function difference(picture, { rows, columns, patch }, { ys, xs, colours }, number, turned) {
  const [top, left] = corner(number, columns, patch);
  const area = rows * columns;
  let sum = 0;
  for (let n = 0; n < ys.length; n += 1) {
    const i = top + ys[n];
    const j = left + (turned ? patch - 1 - xs[n] : xs[n]);
    if (i < 0 || j < 0 || i >= rows || j >= columns) return Infinity;
    const at = i * columns + j;
    for (let c = 0; c < 3; c += 1) sum += (picture[c * area + at] - colours[3 * n + c]) ** 2;
  }
  return sum / (3 * ys.length);
}

function error(one, other) {
  const sum = one.reduce((total, value, n) => total + (value - other[n]) ** 2, 0);
  return 255 * Math.sqrt(sum / one.length);
}
