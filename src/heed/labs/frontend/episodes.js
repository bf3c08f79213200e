// What an episode says to its reader; the twins of functions in heed/labs/episode.py. A test compares
// them.
//
//   dealt(seed, ways, shots, stored) -> {cells, query, labels}    an episode of stored characters
//   rightRow({cells, query}) -> row or null                       where the query belongs, if that is known
//   verdict(tell, {cells, query, labels, answer}) -> string
//   remarks(tell, {cells, query, labels, answer}) -> [string]

import {share} from "./say.js";
import {permutation} from "./steering.js";
import {characterOf} from "./strokes.js";

export function dealt(seed, ways, shots, stored) {
  const chosen = permutation(stored.length, seed).slice(0, ways);
  const takes = chosen.map((_, i) => permutation(stored[0].drawings.length, seed + 1 + i));
  const [asked] = permutation(ways, seed + 100);
  const row = (character, take) => take.slice(0, shots).map((k) => `@${character}.${k}`);
  return {
    cells: chosen.map((character, i) => row(character, takes[i])),
    query: `@${chosen[asked]}.${takes[asked][shots]}`,
    labels: permutation(ways, seed + 200),
  };
}

export function rightRow({ cells, query }) {
  const own = characterOf(query);
  if (own === null) return null;
  const has = cells.flatMap((row, i) => (row.some((text) => characterOf(text) === own) ? [i] : []));
  return has.length === 1 ? has[0] : null;
}

export function verdict(tell, { cells, query, labels, answer }) {
  const { probabilities, label } = answer;
  if (!probabilities.length) return "";
  const row = rightRow({ cells, query });
  const kind = row === null ? "answer" : labels[row] === label ? "answer.right" : "answer.wrong";
  return tell(kind, { label: label + 1, share: share(probabilities[label] ?? 0), right: labels[row] + 1 });
}

export function remarks(tell, { cells, query, labels, answer }) {
  if (answer.message === "nothing") return [tell("message.nothing")];
  const named = (numbers) => [...new Set(numbers)].sort((a, b) => a - b).join(", ");
  const lines = [];
  const empty = cells.flatMap((row, i) => (row.some(Boolean) ? [] : [labels[i] + 1]));
  if (empty.length) lines.push(tell("missing", { labels: named(empty) }));
  if (!query) lines.push(tell("blank"));
  const homes = new Map();
  cells.forEach((row, i) => {
    for (const text of row.filter(Boolean)) {
      if (!homes.has(text)) homes.set(text, new Set());
      homes.get(text).add(labels[i] + 1);
    }
  });
  const twice = [...homes.values()].filter((own) => own.size > 1).flatMap((own) => [...own]);
  if (twice.length) lines.push(tell("twice", { labels: named(twice) }));
  if (homes.has(query)) lines.push(tell("same", { labels: named([...homes.get(query)]) }));
  return lines;
}
