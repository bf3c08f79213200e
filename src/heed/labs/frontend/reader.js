// A language model in the page: one ONNX graph, a step from a word to the next. Tests compare it
// with PyTorch, number for number.
//
//   new Reader({ort, manifest, words, sessions})      readers.js makes them
//       .name, .attends
//       .knows(word) -> boolean
//       await .read(words, {look = "own", null = true, temperature = 1, guesses = 5, groups = {}})
//           -> {weights, next, bits, shares}
//             a row for each word, "<s>" first. weights: where it looked, at the null slot and the
//             words before it (row t has t + 1 of them), null without attention; next: [word, p] of
//             the likeliest words after it; bits: −log2 p of the word that did come, "</s>" last
//             shares: how likely one of the words of each group (name -> [word]) is next
//             look, null and temperature are those of `steered` in heed/labs/reading.py
//
// What a state is made of, and what it begins with, says the manifest (heed/experiments/export.py).

import {alone} from "./runtime.js";
import {BOS, EOS, PAD, Vocabulary} from "./vocabulary.js";

const ARRAYS = { float32: Float32Array, bool: Uint8Array };

export class Reader {
  #ort;
  #manifest;
  #session;
  #words;

  constructor({ ort, manifest, words, sessions }) {
    this.#ort = ort;
    this.#manifest = manifest;
    this.#session = sessions.step;
    this.#words = new Vocabulary(words.words);
    this.name = manifest.experiment;
    this.attends = "weights" in manifest.step.outputs;
  }

  knows(word) {
    return this.#words.has(word);
  }

  read(words, { guesses = 5, groups = {}, ...steering } = {}) {
    const places = Object.entries(groups).map(([name, group]) => [
      name,
      group.filter((word) => this.#words.has(word)).map((word) => this.#words.encode(word)),
    ]);
    return alone(async () => {
      const wanted = [...words.map((word) => this.#words.encode(word)), EOS];
      const found = { weights: this.attends ? [] : null, next: [], bits: [], shares: [] };
      let state = this.#start();
      for (const [t, token] of [BOS, ...wanted.slice(0, -1)].entries()) {
        const out = await this.#session.run({
          ...this.#read(state),
          ...this.#controls(steering, t + 1),
          token: this.#tensor("int64", BigInt64Array.of(BigInt(token)), [1]),
        });
        state = Object.fromEntries(Object.keys(state).map((name) => [name, out[`next_${name}`]]));
        found.weights?.push(out.weights.data.slice());
        const logits = out.logits.data;
        const whole = logSum(logits);
        found.bits.push((whole - logits[wanted[t]]) / Math.LN2);
        const likely = likeliest(logits, guesses);
        const add = (sum, w) => sum + Math.exp(logits[w] - whole);
        found.shares.push(
          Object.fromEntries(places.map(([name, all]) => [name, all.reduce(add, 0)])),
        );
        found.next.push(likely.map((w) => [this.#words.words[w], Math.exp(logits[w] - whole)]));
      }
      return found;
    });
  }

  #start() {
    const begin = ([name, { type, shape, value }]) => {
      const size = shape.reduce((a, b) => a * b, 1);
      return [name, this.#tensor(type, new ARRAYS[type](size).fill(Number(value)), [1, ...shape])];
    };
    return Object.fromEntries(Object.entries(this.#manifest.start).map(begin));
  }

  // A part of the state that no look depends on may be none of the inputs.
  #read(state) {
    const { inputs } = this.#manifest.step;
    return Object.fromEntries(Object.entries(state).filter(([name]) => name in inputs));
  }

  // What a step with so many slots is told beside its state.
  #controls({ look = "own", null: may = true, temperature = 1 }, slots) {
    const given = { temperature };
    if (!may) given.null = false;
    if (look !== "own") {
      // Without the null slot it is left out; before the first word there is no other one.
      const kept = may && this.#manifest.controls.null.neutral;
      const first = kept ? 0 : Math.min(1, slots - 1);
      given.force = true;
      given.forced = Float32Array.from({ length: slots }, (_, k) => {
        if (look === "last") return Number(k === slots - 1);
        return k < first ? 0 : 1 / (slots - first);
      });
    }
    const sizes = { batch: 1, slot: slots };
    const made = ([name, { type, shape, neutral }]) => {
      const dims = shape.map((axis) => sizes[axis] ?? axis);
      const values = new ARRAYS[type](dims.reduce((a, b) => a * b, 1));
      const value = given[name] ?? neutral;
      if (typeof value === "object") values.set(value);
      else values.fill(Number(value));
      return [name, this.#tensor(type, values, dims)];
    };
    return Object.fromEntries(Object.entries(this.#manifest.controls).map(made));
  }

  #tensor(type, data, dims) {
    return new this.#ort.Tensor(type, data, dims);
  }
}

// ln Σ exp: what is to be taken off a logit to make it the logarithm of a probability.
function logSum(logits) {
  let most = -Infinity;
  for (let word = 0; word < logits.length; word += 1) most = Math.max(most, logits[word]);
  let sum = 0;
  for (let word = 0; word < logits.length; word += 1) sum += Math.exp(logits[word] - most);
  return most + Math.log(sum);
}

function likeliest(logits, count) {
  const best = [];
  for (let word = 0; word < logits.length; word += 1) {
    if (word === PAD || word === BOS) continue; // neither is ever a next word
    if (best.length === count && logits[word] <= logits[best[count - 1]]) continue;
    let place = best.length;
    while (place > 0 && logits[word] > logits[best[place - 1]]) place -= 1;
    best.splice(place, 0, word);
    best.length = Math.min(best.length, count);
  }
  return best;
}
