// model(name) -> Promise of a Translator; a page has one of each, whichever labs ask for it
// untouched(translator, words) -> Promise of what it writes by itself, found once while a reader tries
//     what can be done to it

import {model as parts} from "./runtime.js";
import {Translator} from "./translator.js";

const made = new WeakMap();

export async function model(name) {
  const found = await parts(name);
  if (!made.has(found)) made.set(found, new Translator(found));
  return made.get(found);
}

const written = new WeakMap();

export async function untouched(translator, words) {
  const key = JSON.stringify(words);
  if (written.get(translator)?.key !== key) {
    written.set(translator, { key, target: (await translator.translate(words)).target });
  }
  return written.get(translator).target;
}
