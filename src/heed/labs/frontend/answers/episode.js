// The twin of EpisodeLab in heed/labs/episode.py. A test compares their answers.

import {permutation} from "../steering.js";
import {picture} from "../strokes.js";

export {model} from "../learners.js";

export const settings = ["cells", "query", "labels", "order"];

export const models = (get) => get("models");

export async function answer(get, [learner]) {
  const [cells, query, labels, order] = settings.map(get);
  const ink = (text) => picture(text, get("stored"));
  const filled = cells.flatMap((row, i) => row.flatMap((text, j) => (text ? [[i, j]] : [])));
  const shown = permutation(filled.length, order).map((place) => filled[place]);
  const blank = { shown, probabilities: [], label: -1, weights: [], blocks: [] };
  if (!shown.length) return { ...blank, message: "nothing" };
  const found = await learner.ask(
    shown.map(([i, j]) => ink(cells[i][j])),
    shown.map(([i]) => labels[i]),
    ink(query),
  );
  const blocks = found.weights.map((_, i) => `attention ${i + 1}`);
  return { ...blank, ...found, blocks, message: "" };
}
