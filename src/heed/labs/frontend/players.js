// model(name) -> Promise of a Player; a page has one of each, whichever labs ask for it

import {Player} from "./player.js";
import {model as parts} from "./runtime.js";

const made = new WeakMap();

export async function model(name) {
  const found = await parts(name);
  if (!made.has(found)) made.set(found, new Player(found));
  return made.get(found);
}
