// model(name) -> Promise of a Reader; a page has one of each, whichever labs ask for it

import {model as parts} from "./runtime.js";
import {Reader} from "./reader.js";

const made = new WeakMap();

export async function model(name) {
  const found = await parts(name);
  if (!made.has(found)) made.set(found, new Reader(found));
  return made.get(found);
}
