// The twin of RivalsLab in heed/labs/rivals.py. A test compares their answers. Only the model that
// is chosen is fetched.

import {bits} from "../numbers.js";
import {read} from "../typed.js";

export {model} from "../translators.js";

export const settings = ["text", "choice"];

export const models = (get) => [get("models")[get("choice")]];

export async function answer(get, [translator]) {
  const { words, ...told } = read(get("text"), translator);
  if (!words.length) return { ...told, target: [], weights: [], finished: true, bits: 0 };
  const { target, weights, finished } = await translator.translate(words);
  const rows = (weights ?? []).map((row) => Array.from(row));
  return { ...told, target, weights: rows, finished, bits: bits(rows) };
}
