// The twin of PlaneLab in heed/labs/plane.py. A test compares their answers. No model is asked.

import {softmax} from "../numbers.js";
import {isCosine, scorer} from "../scoring.js";

export const settings = ["score", "query", "points", "d", "strength", "temperature", "picked"];

const REACH = 3;
const CELLS = 24;

export function answer(get) {
  const keys = get("points");
  const [score, temperature, picked] = ["score", "temperature", "picked"].map(get);
  const strength = score === "content_base" ? get("strength") : 1;
  const ask = scorer({ score, keys, d: get("d"), strength, matrices: get("matrices") });
  const { scores, slopes } = ask(get("query"));
  const weights = softmax(scores, temperature);
  const mean = (rows) => [0, 1].map((x) => rows.reduce((sum, row, j) => sum + weights[j] * row[x], 0));
  const average = slopes && mean(slopes);
  const others = (keys.length - 1) * Math.exp((-2 * strength) / temperature);
  return {
    scores,
    weights,
    max: Math.max(...weights),
    entropy: weights.reduce((sum, p) => sum - (p > 0 ? p * Math.log2(p) : 0), 0),
    context: mean(keys),
    gradient:
      slopes &&
      [0, 1].map((x) => (weights[picked] * (slopes[picked][x] - average[x])) / temperature),
    blind: score === "location_base",
    bound: isCosine(score) ? 1 / (1 + others) : null,
    field: field((query) => softmax(ask(query).scores, temperature)[picked]),
  };
}

/** What a query in each of CELLS × CELLS places would give; the first row is the top. */
function field(weight) {
  const step = (2 * REACH) / CELLS;
  const line = Array.from({ length: CELLS }, (_, i) => -REACH + step * (i + 0.5));
  return line.map((down) => line.map((x) => weight([x, -down])));
}
