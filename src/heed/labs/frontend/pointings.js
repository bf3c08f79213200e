// model(name) -> Promise of a Pointing; a page has one of each, whichever labs ask for it

import {Pointing} from "./pointing.js";
import {model as parts} from "./runtime.js";

const made = new WeakMap();

export async function model(name) {
  const found = await parts(name);
  if (!made.has(found)) made.set(found, new Pointing(found));
  return made.get(found);
}
