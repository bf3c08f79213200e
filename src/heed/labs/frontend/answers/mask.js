// The twin of MaskLab in heed/labs/mask.py and of heed/evaluation/leaks.py. A test compares their
// answers. No model is asked.

import {softmax} from "../numbers.js";

export const settings = ["padding", "causal", "over", "swapped"];

const times = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));
const transposed = (a) => a[0].map((_, j) => a.map((row) => row[j]));

export function answer(get) {
  const wiring = Object.fromEntries(settings.map((name) => [name, get(name)]));
  const bench = get("bench");
  const { weights } = attend(wiring, bench);
  return { weights, sums: weights.map(total), leaks: leaks(wiring, bench) };
}

function attend({ padding, causal, over, swapped }, bench, { x = bench.x, query } = {}) {
  const { real } = bench;
  const d = x[0].length;
  let scores = times(query ?? times(x, bench.W_q), transposed(times(x, bench.W_k)));
  if (swapped) scores = transposed(scores);
  const kept = (i, j) => (padding !== "before" || j < real) && (!causal || j <= i);
  scores = scores.map((row, i) => row.map((s, j) => (kept(i, j) ? s / Math.sqrt(d) : -Infinity)));
  let weights = over === "keys" ? shares(scores) : transposed(shares(transposed(scores)));
  if (padding === "after") weights = weights.map((row) => row.map((w, j) => (j < real ? w : 0)));
  return { weights, context: times(weights, x) };
}

const shares = (rows) => rows.map((row) => softmax(row));

function leaks(wiring, bench) {
  const { x, other, real } = bench;
  const whole = attend(wiring, bench);
  const words = (rows) => rows.slice(0, real);
  const put = (where) => x.map((row, i) => (where(i) ? other[i] : row));
  const filled = attend(wiring, bench, { x: put((i) => i >= real) });
  let ahead = 0;
  let question = 0;
  for (let t = 0; t < real; t += 1) {
    const later = attend(wiring, bench, { x: put((i) => i > t && i < real) });
    ahead = Math.max(ahead, apart([later.context[t]], [whole.context[t]]));
    const query = times(
      x.map((row, i) => (i === t ? other[i] : row)),
      bench.W_q,
    );
    const moved = attend(wiring, bench, { query });
    const rest = (rows) => words(rows).filter((_, i) => i !== t);
    question = Math.max(question, apart(rest(moved.weights), rest(whole.weights)));
  }
  return {
    sum: Math.max(...words(whole.weights).map((row) => Math.abs(total(row) - 1))),
    padding: Math.max(0, ...words(whole.weights).flatMap((row) => row.slice(real))),
    filling: apart(words(filled.context), words(whole.context)),
    ahead,
    question,
  };
}

function total(row) {
  return row.reduce((sum, w) => sum + w, 0);
}

function apart(a, b) {
  return Math.max(0, ...a.flatMap((row, i) => row.map((w, j) => Math.abs(w - b[i][j]))));
}
