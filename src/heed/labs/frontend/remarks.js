// A sentence as a model has read it.
//
//   END                       the token that ends it
//   isWord(token)             no mark of punctuation and no END
//   remarks(answer, strings, tell) -> string
//       what its reader should know: nothing typed, nothing known, cut, words that are not known.
//       The lab's own words (tell) say what follows from it in this lab.

import {say} from "./say.js";

export const END = "</s>";
const NAMED = 8; // unknown words that are called by name

export function isWord(token) {
  return token !== END && /[\p{L}\p{N}]/u.test(token);
}

export function remarks({ source = [], known = [], read, of, message }, strings, tell) {
  const said = [];
  if (message === "long") said.push(say(strings, "remarks.long", { read, of }));
  else if (message === "failed") said.push(say(strings, "remarks.failed"));
  else if (message) said.push(tell(`message.${message}`));
  const strange = [...new Set(source.filter((_, i) => known[i] === false))];
  if (strange.length && message !== "unknown") {
    const words = strange.slice(0, NAMED).join(", ") + (strange.length > NAMED ? " …" : "");
    said.push(say(strings, "remarks.strange", { words }));
  }
  return said.join(" ");
}
