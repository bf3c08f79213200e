// model(name) -> Promise of a Machine; a page has one of each, whichever labs ask for it

import {Machine} from "./machine.js";
import {model as parts} from "./runtime.js";

const made = new WeakMap();

export async function model(name) {
  const found = await parts(name);
  if (!made.has(found)) made.set(found, new Machine(found));
  return made.get(found);
}
