// What comes back through one vector and what with attention; the twin of BottleneckLab in
// heed/labs/bottleneck.py. A test compares their answers.

import {common} from "../lcs.js";
import {largest} from "../numbers.js";
import {read} from "../typed.js";

export {model} from "../translators.js";

export const settings = ["text"];

export const models = (get) => get("models"); // the one with one vector, the one with attention

export async function answer(get, [fixed, attended]) {
  const { words, ...told } = read(get("text"), fixed, attended);
  if (!words.length) {
    return {
      ...told,
      fixed: { target: [], finished: true, kept: [] },
      attended: { target: [], finished: true, kept: [], weights: [] },
      lost: [],
      state: { names: [], values: [] },
    };
  }
  const through = await fixed.translate(words);
  const looked = await attended.translate(words);
  const weights = looked.weights.map((row) => Array.from(row));

  const pairs = common(through.target, looked.target);
  const kept = new Set(pairs.map(([i]) => i));
  const came = new Set(pairs.map(([, j]) => j));
  // A word is lost if French words came of it, and not one of them is still there.
  const rows = weights.map(largest);
  const lost = told.source.map((_, at) => {
    const made = rows.flatMap((most, row) => (most === at ? [row] : []));
    return made.length > 0 && !made.some((row) => came.has(row));
  });
  return {
    ...told,
    fixed: {
      target: through.target,
      finished: through.finished,
      kept: through.target.map((_, i) => kept.has(i)),
    },
    attended: {
      target: looked.target,
      finished: looked.finished,
      kept: looked.target.map((_, j) => came.has(j)),
      weights,
    },
    lost,
    state: strips(await fixed.encode(words)),
  };
}

/** h of each layer, then c of each, as rows of numbers. */
function strips({ h, c }) {
  const names = [];
  const values = [];
  for (const [letter, { data, dims }] of Object.entries({ h, c })) {
    const [, layers, size] = dims;
    for (let layer = 0; layer < layers; layer += 1) {
      names.push(`${letter}, layer ${layer + 1}`);
      values.push(Array.from(data.subarray(layer * size, (layer + 1) * size)));
    }
  }
  return { names, values };
}
