// The twin of PredictLab in heed/labs/predict.py, for a sentence of the reader's own. The examples
// come with the page, and nobody need be asked for them.
import {read} from "../translator.js";

export const settings = ["example", "text"];

export const models = (get) => get("models");

export async function answer(get, [translator]) {
  if (get("example") >= 0) return withoutCount(get("answer"));
  const { words, ...told } = read(get("text"), translator);
  if (!words.length) return { ...told, target: [], weights: [] };
  const { target, weights } = await translator.translate(words);
  return { ...told, target, weights: weights.map((row) => Array.from(row)) };
}

function withoutCount(answer) {
  const { count, ...rest } = answer ?? {};
  return rest;
}
