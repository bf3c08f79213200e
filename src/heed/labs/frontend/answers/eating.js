// The twin of EatingLab in heed/labs/eating.py. A test compares their answers.

export {model} from "../readers.js";

export const settings = ["verb", "other", "tail"];

export const models = (get) => get("models");

const GUESSES = 8;

export async function answer(get, [reader]) {
  const { verbs, foods, colours } = get("choices");
  const groups = { food: foods, colour: colours };
  const sides = [];
  for (const name of ["verb", "other"]) {
    const words = `she is ${verbs[get(name)]} ${get("tail")}`.trim().split(" ");
    const { next, shares, weights } = await reader.read(words, { guesses: GUESSES, groups });
    sides.push({
      words,
      next: next.at(-1),
      ...shares.at(-1),
      weights: weights ? Array.from(weights.at(-1)) : [],
    });
  }
  return { sides };
}
