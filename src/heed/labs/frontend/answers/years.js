// The twin of YearsLab in heed/labs/years.py. A test compares their answers. Only the models that are
// shown are fetched; they translate one after the other.

import {read} from "../typed.js";

export {model} from "../translators.js";

export const settings = ["text", "shown"];

export const models = (get) => get("shown").map((place) => get("models")[place]);

export async function answer(get, translators) {
  const { words, ...told } = read(get("text"), ...translators);
  const years = get("choices").map(() => null);
  for (const [i, place] of get("shown").entries()) {
    if (!words.length) break;
    const { target, weights, finished } = await translators[i].translate(words);
    const rows = (weights ?? []).map((row) => Array.from(row));
    years[place] = { target, weights: rows, finished };
  }
  return { ...told, years };
}
