// The twin of PredictLab in heed/labs/predict.py. A test compares their answers. The examples come
// with the page; only a sentence of the reader's own is put to the model.

import {read} from "../typed.js";

export {model} from "../translators.js";

export const settings = ["example", "text"];

const chosen = (get) => get("examples")[get("example")];

export const models = (get) => (chosen(get) ? [] : get("models"));

export async function answer(get, [translator]) {
  const example = chosen(get);
  if (example) {
    const { source, target, weights, known } = example;
    const words = source.length - 1;
    return { source, known, read: words, of: words, message: "", target, weights };
  }
  const { words, ...told } = read(get("text"), translator);
  if (!words.length) return { ...told, target: [], weights: [] };
  const { target, weights } = await translator.translate(words);
  return { ...told, target, weights: weights.map((row) => Array.from(row)) };
}
