// The twin of AlignmentLab in heed/labs/alignment.py. A test compares their answers.

import {copied} from "../decoding.js";
import {read} from "../typed.js";

export {model} from "../translators.js";

const STEERING = ["temperature", "hidden", "look", "rows", "shuffle", "only"];

export const settings = ["text", ...STEERING, "width", "copy"];

export const models = (get) => get("models");

export async function answer(get, [translator]) {
  const { words, ...told } = read(get("text"), translator);
  if (!words.length) {
    return {
      ...told,
      target: [],
      copied: [],
      probability: [],
      weights: [],
      log_prob: 0,
      finished: true,
      alone: null,
    };
  }
  const width = get("width");
  const steering = Object.fromEntries(STEERING.map((name) => [name, get(name)]));
  const copies = get("copy") ? copied : ({ target }) => target.map(() => -1);
  const written = await translator.translate(words, { ...steering, width });
  const steered = !neutral(steering, told.source.length);
  return {
    ...told,
    target: written.target,
    copied: copies(written, words),
    probability: written.probability,
    weights: written.weights.map((row) => Array.from(row)),
    log_prob: written.log_prob,
    finished: written.finished,
    alone: steered ? await alone(translator, words, width, copies) : null,
  };
}

// Places beyond the sentence steer nothing, nor does hiding all there is.
function neutral({ temperature, hidden, look, rows }, length) {
  const within = (keys) => [...new Set(keys)].filter((j) => j >= 0 && j < length);
  const hides = within(hidden).length < length ? within(hidden) : [];
  const chosen = Object.values(rows).flatMap(within).filter((j) => !hides.includes(j));
  const itself = look === "own" || (look === "yours" && !chosen.length);
  return temperature === 1 && !hides.length && itself;
}

// What the model writes when it is left alone stays the same while a reader steers: kept, for the
// sentence asked for last.
const kept = new WeakMap();

async function alone(translator, words, width, copies) {
  const key = JSON.stringify([words, width]);
  if (kept.get(translator)?.key !== key) {
    kept.set(translator, { key, found: await translator.translate(words, { width }) });
  }
  const { found } = kept.get(translator);
  return { target: found.target, copied: copies(found, words), log_prob: found.log_prob };
}
