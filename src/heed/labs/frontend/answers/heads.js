// The twin of HeadsLab in heed/labs/heads.py. A test compares their answers. Only the model that is
// chosen is fetched.

import {CHANGES, PLACES, changesOf} from "../headed.js";
import {untouched} from "../translators.js";
import {read} from "../typed.js";

export {model} from "../translators.js";

export const settings = ["text", "choice", ...CHANGES];

export const models = (get) => [get("models")[get("choice")]];

export async function answer(get, [translator]) {
  const { words, ...told } = read(get("text"), translator);
  if (!words.length) {
    const maps = Object.fromEntries(PLACES.map((place) => [place, []]));
    return { ...told, target: [], finished: true, maps, alone: null };
  }
  const controls = changesOf(get, get("choices")[get("choice")]);
  const { target, finished, maps } = await translator.translate(words, { controls: controls ?? {} });
  return {
    ...told,
    target,
    finished,
    maps: plain(maps),
    alone: controls ? await untouched(translator, words) : null,
  };
}

const plain = (maps) =>
  Object.fromEntries(Object.entries(maps).map(([place, layers]) => [place, rows(layers)]));

const rows = (layers) => layers.map((heads) => heads.map((map) => map.map((row) => Array.from(row))));
