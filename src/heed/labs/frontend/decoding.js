// Two searches for what a model writes; the twin of heed/evaluation/decoding.py, ties included.
//
//   run      a sentence that is being written, in one slot or several:
//            .size        words of the vocabulary
//            await .step(tokens) -> {logits, weights}      one word on in every slot: rows after
//                         rows, a row a slot; weights null without attention
//            .goOn(parents)      slot k goes on from what slot parents[k] was
//   greedy(run, limit), beam(run, limit, width) -> Promise of [{token, gain, weights}]
//            gain: log p of the token; what a step looked at belongs to it. EOS last if finished.
//   copied({target, weights}, words) -> [source index or −1]      for each <unk> of target the
//            source word that is looked at most

import {BOS, EOS, SPECIALS, UNK} from "./vocabulary.js";

export async function greedy(run, limit) {
  const found = [];
  let token = BOS;
  for (let step = 0; step < limit; step += 1) {
    const { logits, weights } = await run.step([token]);
    const total = logSum(logits, 0, logits.length);
    token = EOS;
    for (let word = EOS; word < logits.length; word += 1) {
      if (logits[word] > logits[token]) token = word;
    }
    found.push({ token, gain: logits[token] - total, weights: weights?.slice() ?? null });
    if (token === EOS) break;
  }
  return found;
}

// A slot is a beginning: its log p, its last token, whether it is done, and the way it took, as a
// chain from the last word back. A finished one grows no more, and competes with the others.
export async function beam(run, limit, width) {
  let slots = Array.from({ length: width }, (_, slot) => ({
    total: slot ? -Infinity : 0, // all slots start alike: only the first one counts
    token: BOS,
    done: false,
    path: null,
  }));
  for (let step = 1; step <= limit; step += 1) {
    const { logits, weights } = await run.step(slots.map((slot) => slot.token));
    const grown = [];
    slots.forEach((slot, parent) => {
      if (slot.done) {
        keepBest(grown, width, { total: slot.total, parent });
        return;
      }
      const start = parent * run.size;
      const sum = logSum(logits, start, start + run.size);
      for (let token = EOS; token < run.size; token += 1) {
        const gain = logits[start + token] - sum;
        keepBest(grown, width, { total: slot.total + gain, parent, token, gain });
      }
    });
    const keys = weights && weights.length / width;
    slots = grown.map(({ total, parent, token, gain }) => {
      const from = slots[parent];
      if (from.done) return from;
      const row = weights?.slice(parent * keys, (parent + 1) * keys) ?? null;
      const path = { before: from.path, token, gain, weights: row };
      return { total, token, done: token === EOS || step >= limit, path };
    });
    const best = (wanted) =>
      Math.max(...slots.map((slot) => (slot.done === wanted ? slot.total : -Infinity)));
    // An unfinished sentence only loses probability: what it has is the best it can become.
    if (best(true) >= best(false)) break;
    run.goOn(grown.map(({ parent }) => parent));
  }
  const ended = slots.filter((slot) => slot.done);
  const best = ended.reduce((a, b) => (b.total > a.total ? b : a));
  const found = [];
  for (let at = best.path; at; at = at.before) found.unshift(at);
  return found;
}

export function copied({ target, weights }, words) {
  return target.map((word, i) => {
    if (word !== SPECIALS[UNK] || !words.length) return -1;
    const row = weights[i].slice(0, words.length);
    return row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);
  });
}

function logSum(values, start, end) {
  let largest = -Infinity;
  for (let i = start; i < end; i += 1) if (values[i] > largest) largest = values[i];
  let sum = 0;
  for (let i = start; i < end; i += 1) sum += Math.exp(values[i] - largest);
  return largest + Math.log(sum);
}

// `best` stays sorted, largest first; of two alike the earlier one stays before.
function keepBest(best, width, candidate) {
  if (best.length === width && candidate.total <= best[width - 1].total) return;
  let at = best.length;
  while (at > 0 && best[at - 1].total < candidate.total) at -= 1;
  best.splice(at, 0, candidate);
  if (best.length > width) best.pop();
}
