// Cut text into words and put words back together, exactly as heed/data/text.py does: a model knows
// only the words that it was given in training. A test compares the two.
//
//   tokenize(text, language) -> [word]        language "en" or "fr"; lower-case
//   detokenize(words, language) -> string     spaces where they belong, a capital in front

const SPELLING = { "’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "«": '"', "»": '"', "…": "..." };

// Python's \w, \d and \s are other sets than JavaScript's.
const W = "\\p{L}\\p{N}_";
const S = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const PIECE = new RegExp(
  `\\p{Nd}+(?:[.,:]\\p{Nd}+)*(?![${W}])` + // 3,000  2:30  1992
    `|[${W}]+(?:[-'][${W}]+)*'?` + // words with their hyphens and apostrophes
    "|\\.\\.\\." +
    `|[^${W}${S}]`,
  "gu",
);
const ENGLISH_CLITIC = new RegExp(`(?<=[${W}])(?:n't|'(?:s|m|re|ve|ll|d))$`, "u");
const PRONOUN = "je|tu|ils?|elles?|on|nous|vous|ce|moi|toi|les?|la|lui|leur|y|en";
const FRENCH_INVERSION = new RegExp(`(?<=[${W}])-(?:t-)?(?:${PRONOUN})$`, "u");
const FRENCH_WHOLE = new Set(["aujourd'hui", "quelqu'un", "quelqu'une", "rendez-vous", "entr'acte"]);

const NO_SPACE_BEFORE = new Set([...".,?!;:%)]}", "..."]);
const NO_SPACE_AFTER = new Set("([{");
const ENGLISH_ENDINGS = new Set(["n't", "'s", "'m", "'re", "'ve", "'ll", "'d"]);
const HIGH = new Set("?!;:");
const LETTER = /[\p{L}\p{N}]/u;

export function tokenize(text, language) {
  const plain = text
    .normalize("NFC")
    .replace(/[’‘ʼ“”«»…]/g, (mark) => SPELLING[mark])
    .toLowerCase();
  return (plain.match(PIECE) ?? []).flatMap(language === "en" ? cutEnglish : cutFrench);
}

function cutEnglish(piece) {
  const endings = [];
  for (;;) {
    const ending =
      [...piece].length > 1 && piece.endsWith("'") ? "'" : ENGLISH_CLITIC.exec(piece)?.[0];
    if (ending === undefined) return [piece, ...endings];
    endings.unshift(ending);
    piece = piece.slice(0, -ending.length);
  }
}

function cutFrench(piece) {
  const [elided, endings] = [[], []];
  while (!FRENCH_WHOLE.has(piece) && piece.includes("'")) {
    const end = piece.indexOf("'") + 1;
    elided.push(piece.slice(0, end));
    piece = piece.slice(end);
  }
  while (!FRENCH_WHOLE.has(piece)) {
    const ending = FRENCH_INVERSION.exec(piece)?.[0];
    if (ending === undefined) break;
    endings.unshift(ending);
    piece = piece.slice(0, -ending.length);
  }
  return [...elided, ...(piece ? [piece] : []), ...endings];
}

export function detokenize(words, language) {
  let [text, glue, quoted] = ["", true, false];
  for (const word of words) {
    const long = [...word].length > 1;
    let [before, after] = [false, false];
    if (word === '"') {
      [before, after, quoted] = [quoted, !quoted, !quoted];
    } else if (NO_SPACE_BEFORE.has(word)) {
      before = !(word.startsWith(".") && text.endsWith(".")); // ". . ." is no "..."
    } else if (NO_SPACE_AFTER.has(word)) {
      after = true;
    } else if (language === "en") {
      before = ENGLISH_ENDINGS.has(word);
    } else {
      after = long && word.endsWith("'");
      before = long && word.startsWith("-");
    }
    const high = language === "fr" && !glue && HIGH.has(word);
    text += (high ? "\u202f" : glue || before ? "" : " ") + word;
    glue = after;
  }
  const letters = [...text];
  const first = letters.findIndex((letter) => LETTER.test(letter));
  if (first < 0) return text;
  const capital = letters[first].toUpperCase();
  if (capital.toLowerCase() !== letters[first]) return text; // ß and a few more have no way back
  letters[first] = capital;
  return letters.join("");
}
