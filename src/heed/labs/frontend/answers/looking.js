// The twin of LookingLab in heed/labs/looking.py. A test compares their answers. No model is asked.

import {guessed, unpacked} from "../patches.js";

export const settings = ["hidden", "temperature", "mirror"];

const pictures = new WeakMap(); // unpacked once

export function answer(get) {
  const sight = get("sight");
  if (!pictures.has(sight)) pictures.set(sight, unpacked(sight));
  const asked = Object.fromEntries(settings.map((name) => [name, get(name)]));
  return guessed(pictures.get(sight), sight, asked);
}
