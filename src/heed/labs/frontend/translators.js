// model(name) -> Promise of a Translator; a page has one of each, whichever labs ask for it

import {model as parts} from "./runtime.js";
import {Translator} from "./translator.js";

const made = new WeakMap();

export async function model(name) {
  const found = await parts(name);
  if (!made.has(found)) made.set(found, new Translator(found));
  return made.get(found);
}
