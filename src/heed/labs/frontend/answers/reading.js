// The twin of ReadingLab in heed/labs/reading.py. A test compares their answers.

import {read} from "../typed.js";

export {model} from "../readers.js";

const STEERING = ["look", "null", "temperature"];

export const settings = ["text", ...STEERING];

export const models = (get) => get("models"); // the one that attends, its rival

export async function answer(get, [reader, rival]) {
  const { words, ...told } = read(get("text"), reader, rival);
  const nothing = { next: [], bits: [] };
  if (!words.length) return { ...told, weights: [], ...nothing, rival: nothing, alone: null };
  const steering = Object.fromEntries(STEERING.map((name) => [name, get(name)]));
  const itself = steering.look === "own" && steering.null && steering.temperature === 1;
  const alone = await leftAlone(reader, words);
  const { weights, next, bits } = itself ? alone : await reader.read(words, steering);
  const other = await leftAlone(rival, words);
  return {
    ...told,
    weights: weights.map((row) => Array.from(row)),
    next,
    bits,
    rival: { next: other.next, bits: other.bits },
    alone: itself ? null : { bits: alone.bits },
  };
}

// What a model makes of a text by itself stays the same while a reader steers: kept, for the text
// asked for last.
const kept = new WeakMap();

async function leftAlone(model, words) {
  const key = JSON.stringify(words);
  if (kept.get(model)?.key !== key) kept.set(model, { key, found: await model.read(words) });
  return kept.get(model).found;
}
