// The twin of WindowLab in heed/labs/window.py. A test compares their answers. Only the model that is
// chosen is fetched.

import {untouched} from "../translators.js";
import {read} from "../typed.js";
import {moved, windowOf} from "../windowed.js";

export {model} from "../translators.js";

const WINDOW = ["where", "places", "still", "radius", "sigma", "linked", "hill", "everything"];

export const settings = ["text", "choice", ...WINDOW];

export const models = (get) => [get("models")[get("choice")]];

export async function answer(get, [translator]) {
  const { words, ...told } = read(get("text"), translator);
  if (!words.length) {
    return { ...told, target: [], weights: [], align: [], places: [], finished: true, alone: null };
  }
  const window = windowOf(get);
  const { target, weights, align, places, finished } = await translator.translate(words, { window });
  return {
    ...told,
    target,
    weights: plain(weights),
    align: plain(align),
    places,
    finished,
    alone: moved(window, get("choices")[get("choice")]) ? await untouched(translator, words) : null,
  };
}

const plain = (rows) => rows.map((row) => Array.from(row));
