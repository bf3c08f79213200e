// model(name) -> Promise of a Teller; a page has one of each, whichever labs ask for it

import {model as parts} from "./runtime.js";
import {Teller} from "./teller.js";

const made = new WeakMap();

export async function model(name) {
  const found = await parts(name);
  if (!made.has(found)) made.set(found, new Teller(found));
  return made.get(found);
}
