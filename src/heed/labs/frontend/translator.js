// A translator in the page: two ONNX graphs, and the loops around them. It mirrors
// heed/evaluation/decoding.py and heed/labs/steering.py number for number; tests compare them.
//
//   read(text, ...translators) -> {words, source, known, read, of, message}
//       an English text cut into at most 60 words. source ends with "</s>" and known belongs to it
//       (every translator has the word); message "" | "empty" | "long" | "unknown".
//   new Translator({ort, manifest, vocabulary, sessions})      translators.js makes them
//       .name, .attends
//       .knows(word) -> boolean
//       await .translate(words, {width = 1, maxSteps, …steering}) -> {target, tokens, weights,
//             probability, log_prob, finished}
//             target: words, "</s>" last if finished; weights: a row for each of them (Float32Array),
//             null without attention; probability: p of each; log_prob: their logs summed.
//       await .encode(words) -> {name: {data, dims}}  what the encoder says, by its outputs' names
//       await .force(words, target, steering) -> {logits: [Float32Array], weights: [Float32Array]}
//             teacher forcing: a row for each word of target and one more for what follows
//   steering = {temperature = 1, hidden = [], look = "own", rows = {}, shuffle = 0, only = -1}
//   permutation(count, seed) -> [index], mulberry32(seed) -> () => number
//   copied(hypothesis, words) -> [source index or −1]   for each <unk> of target the source word
//                                                       that is looked at most

import {alone} from "./runtime.js";
import {tokenize} from "./text.js";

export const [PAD, BOS, EOS, UNK] = [0, 1, 2, 3];
export const SPECIALS = ["<pad>", "<s>", "</s>", "<unk>"];
export const LONGEST = 60;
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

// ---------------------------------------------------------------------------- where it looks

export function mulberry32(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function permutation(count, seed) {
  const random = mulberry32(seed);
  const places = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [places[i], places[j]] = [places[j], places[i]];
  }
  return places;
}

// How the weights of one step are made: null leaves the model's own, {row} forces a row, and {from}
// makes one of the model's own row.
function gaze({ look = "own", rows = {}, shuffle = 0, only = -1 }, step, kept, length) {
  if (look === "own" || (only !== -1 && only !== step)) return null;
  if (look === "uniform") return { row: shares(kept, length) };
  if (look === "yours") {
    const chosen = kept.filter((key) => rows[step]?.includes(key));
    return chosen.length ? { row: shares(chosen, length) } : null;
  }
  const order = permutation(kept.length, shuffle);
  return {
    from(own) {
      const row = Float32Array.from(own);
      kept.forEach((key, i) => (row[key] = own[kept[order[i]]]));
      return row;
    },
  };
}

function shares(keys, length) {
  const row = new Float32Array(length);
  for (const key of keys) row[key] = 1 / keys.length;
  return row;
}

// ---------------------------------------------------------------------------- the translator

const ARRAYS = { float32: Float32Array, bool: Uint8Array };

export class Translator {
  #ort;
  #manifest;
  #encoder;
  #decoder;
  #source;
  #target;
  #written;
  #states;

  constructor({ ort, manifest, vocabulary, sessions }) {
    this.#ort = ort;
    this.#manifest = manifest;
    this.#encoder = sessions.encoder;
    this.#decoder = sessions.decoder;
    this.#source = numbered([...SPECIALS, ...vocabulary.source]);
    this.#target = [...SPECIALS, ...vocabulary.target];
    this.#written = numbered(this.#target);
    this.#states = Object.keys(manifest.start);
    this.name = manifest.experiment;
    this.attends = "weights" in manifest.decoder.outputs;
  }

  knows(word) {
    return (this.#source.get(word) ?? UNK) > UNK;
  }

  translate(words, { width = 1, maxSteps, ...steering } = {}) {
    return alone(async () => {
      const run = await this.#begin(words, width, steering);
      const limit = maxSteps ?? Math.max(20, 2 * words.length + 10);
      return width === 1 ? this.#greedy(run, limit) : this.#beam(run, limit, width);
    });
  }

  encode(words) {
    return alone(async () => {
      const found = await this.#read(words);
      const plain = ([name, { data, dims }]) => [name, { data, dims: [...dims] }];
      return Object.fromEntries(Object.entries(found).map(plain));
    });
  }

  force(words, target, steering = {}) {
    return alone(async () => {
      const run = await this.#begin(words, 1, steering);
      const [logits, weights] = [[], []];
      const given = target.map((word) => this.#written.get(word) ?? UNK);
      for (const token of [BOS, ...given]) {
        const out = await this.#step(run, [token]);
        logits.push(out.logits.slice());
        if (out.weights) weights.push(out.weights.slice());
      }
      return { logits, weights };
    });
  }

  // ------------------------------------------------------------------ the graphs

  #tensor(type, data, dims) {
    return new this.#ort.Tensor(type, data, dims);
  }

  #read(words) {
    if (!words.length) throw new RangeError("there are no words to read");
    const ids = [...words.map((word) => this.#source.get(word) ?? UNK), EOS];
    return this.#encoder.run({
      source: this.#tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]),
      source_lengths: this.#tensor("int64", BigInt64Array.of(BigInt(ids.length)), [1]),
    });
  }

  async #begin(words, width, steering) {
    const encoded = await this.#read(words);
    const length = words.length + 1;
    const run = { width, steering, length, step: 0, fixed: {}, state: {}, kept: null, controls: {} };
    for (const name of this.#states) {
      run.state[name] = repeated(encoded[this.#manifest.start[name]], width);
    }
    const wanted = this.#manifest.decoder.inputs;
    for (const [name, { type, data, dims }] of Object.entries(encoded)) {
      if (!(name in wanted) || name in run.state) continue;
      let values = data;
      if (name === "keep") {
        run.kept = shown(length, steering.hidden ?? []);
        values = Uint8Array.from({ length }, (_, j) => Number(run.kept.includes(j)));
      }
      const spread = repeated({ data: values, dims }, width);
      run.fixed[name] = this.#tensor(type, spread.data, spread.dims);
    }
    run.tokens = new BigInt64Array(width);
    run.fixed.token = this.#tensor("int64", run.tokens, [width]);
    const sizes = { batch: width, source: length };
    for (const [name, { type, shape, neutral }] of Object.entries(this.#manifest.controls)) {
      const dims = shape.map((axis) => sizes[axis] ?? axis);
      const values = new ARRAYS[type](dims.reduce((a, b) => a * b, 1)).fill(Number(neutral));
      run.controls[name] = values;
      run.fixed[name] = this.#tensor(type, values, dims);
    }
    if (steering.temperature !== undefined) run.controls.temperature?.fill(steering.temperature);
    return run;
  }

  // One word on, in every slot. The state in `run` moves; logits and weights are rows after rows.
  async #step(run, tokens) {
    tokens.forEach((token, slot) => (run.tokens[slot] = BigInt(token)));
    const states = Object.entries(run.state);
    const feeds = {
      ...run.fixed,
      ...Object.fromEntries(states.map(([n, s]) => [n, this.#tensor("float32", s.data, s.dims)])),
    };
    const { force, forced } = run.controls;
    const looking = force && gaze(run.steering, run.step, run.kept, run.length);
    if (force) force.fill(0);
    if (looking) {
      const own = looking.from && (await this.#decoder.run(feeds)).weights.data;
      for (let slot = 0; slot < run.width; slot += 1) {
        const [start, end] = [slot * run.length, (slot + 1) * run.length];
        forced.set(looking.row ?? looking.from(own.subarray(start, end)), start);
      }
      force.fill(1);
    }
    const out = await this.#decoder.run(feeds);
    for (const [name] of states) {
      const { data, dims } = out[`next_${name}`];
      run.state[name] = { data, dims };
    }
    run.step += 1;
    return { logits: out.logits.data, weights: out.weights?.data ?? null };
  }

  // ------------------------------------------------------------------ two searches

  async #greedy(run, limit) {
    const found = [];
    let token = BOS;
    for (let step = 0; step < limit; step += 1) {
      const { logits, weights } = await this.#step(run, [token]);
      const total = logSum(logits, 0, logits.length);
      token = EOS;
      for (let word = EOS; word < logits.length; word += 1) {
        if (logits[word] > logits[token]) token = word;
      }
      found.push({ token, gain: logits[token] - total, weights: weights?.slice() ?? null });
      if (token === EOS) break;
    }
    return this.#told(found);
  }

  async #beam(run, limit, width) {
    const size = this.#target.length;
    let slots = Array.from({ length: width }, (_, slot) => ({
      total: slot ? -Infinity : 0, // all slots start alike: only the first one counts
      token: BOS,
      done: false,
      path: null,
    }));
    for (let step = 1; step <= limit; step += 1) {
      const { logits, weights } = await this.#step(run, slots.map((slot) => slot.token));
      const grown = [];
      slots.forEach((slot, parent) => {
        if (slot.done) {
          keepBest(grown, width, { ...slot, parent, token: EOS });
          return;
        }
        const start = parent * size;
        const sum = logSum(logits, start, start + size);
        for (let token = EOS; token < size; token += 1) {
          const gain = logits[start + token] - sum;
          keepBest(grown, width, { total: slot.total + gain, parent, token, gain });
        }
      });
      slots = grown.map(({ total, parent, token, gain }) => {
        const from = slots[parent];
        if (from.done) return { ...from, parent };
        const row = weights?.slice(parent * run.length, (parent + 1) * run.length) ?? null;
        const path = { before: from.path, token, gain, weights: row };
        return { total, token, done: token === EOS || step >= limit, path, parent };
      });
      const best = (wanted) =>
        Math.max(...slots.map((slot) => (slot.done === wanted ? slot.total : -Infinity)));
      // An unfinished sentence only loses probability: what it has is the best it can become.
      if (best(true) >= best(false)) break;
      for (const [name, state] of Object.entries(run.state)) {
        run.state[name] = picked(state, slots.map((slot) => slot.parent));
      }
    }
    const ended = slots.filter((slot) => slot.done);
    const best = ended.reduce((a, b) => (b.total > a.total ? b : a));
    const found = [];
    for (let at = best.path; at; at = at.before) found.unshift(at);
    return this.#told(found);
  }

  #told(found) {
    const finished = found.at(-1)?.token === EOS;
    return {
      target: found.map(({ token }) => this.#target[token]),
      tokens: found.map(({ token }) => token),
      weights: this.attends ? found.map(({ weights }) => weights) : null,
      probability: found.map(({ gain }) => Math.exp(gain)),
      log_prob: found.reduce((sum, { gain }) => sum + gain, 0),
      finished,
    };
  }
}

export function copied({ target, weights }, words) {
  return target.map((word, i) => {
    if (word !== SPECIALS[UNK] || !words.length) return -1;
    const row = weights[i].slice(0, words.length);
    return row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);
  });
}

// ---------------------------------------------------------------------------- helpers

// Positions that may be looked at. What would leave none is ignored.
function shown(length, hidden) {
  const every = Array.from({ length }, (_, j) => j);
  const kept = every.filter((j) => !hidden.includes(j));
  return kept.length ? kept : every;
}

function numbered(words) {
  return new Map(words.map((word, number) => [word, number]));
}

function repeated({ data, dims }, width) {
  if (width === 1) return { data, dims };
  const all = new data.constructor(data.length * width);
  for (let slot = 0; slot < width; slot += 1) all.set(data, slot * data.length);
  return { data: all, dims: [width, ...dims.slice(1)] };
}

function picked({ data, dims }, rows) {
  const size = data.length / dims[0];
  const all = new data.constructor(rows.length * size);
  rows.forEach((row, slot) => all.set(data.subarray(row * size, (row + 1) * size), slot * size));
  return { data: all, dims };
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
