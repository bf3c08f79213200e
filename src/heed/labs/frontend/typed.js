// A typed text as the models read it; the twin of `read` in heed/labs/base.py.
//
//   read(text, ...translators) -> {words, source, known, read, of, message}
//       an English text cut into at most 60 words. source ends with "</s>" and known belongs to it
//       (every translator has the word); message "" | "empty" | "long" | "unknown".

import {tokenize} from "./text.js";
import {EOS, SPECIALS} from "./vocabulary.js";

const LONGEST = 60;
const CHARACTERS = 5000; // who pastes a book waits for no tokeniser

export function read(text, ...translators) {
  const every = tokenize([...text.slice(0, 2 * CHARACTERS)].slice(0, CHARACTERS).join(""), "en");
  const words = every.slice(0, LONGEST);
  const known = words.map((word) => translators.every((each) => each.knows(word)));
  let message = every.length > words.length ? "long" : "";
  if (!words.length) message = "empty";
  else if (!known.includes(true)) message = "unknown";
  return {
    words,
    source: words.length ? [...words, SPECIALS[EOS]] : [],
    known: words.length ? [...known, true] : [],
    read: words.length,
    of: every.length,
    message,
  };
}
