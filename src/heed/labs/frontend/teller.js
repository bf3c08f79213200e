// A model that describes pictures, in the page: one ONNX graph that looks at a picture once, and one
// that writes a word. Tests compare it with PyTorch, number for number.
//
//   new Teller({ort, manifest, captions, sessions})      tellers.js makes them
//       .name, .language
//       await .tell(pixels, {hidden = [], seed = 0})
//           -> {words, probability, weights, glimpses, gates, finished}
//             pixels: bytes, channel by channel, row by row. hidden: places that cannot be looked
//             at; all of them is none. seed: draws the places by `drawn`; 0 looks as the model rests
//             words: "</s>" last if finished; of each the weights over the places, the place that was
//             looked at (−1 for all), β, and its probability
//   drawn(weights, number) -> place     number from 0 to 1: the twin of Dice in heed/labs/picture.py
//
// What is named how, and what leaves the model as it is, says the manifest
// (heed/experiments/export.py).

import {greedy} from "./decoding.js";
import {largest} from "./numbers.js";
import {alone} from "./runtime.js";
import {shown, mulberry32} from "./steering.js";
import {EOS, Vocabulary} from "./vocabulary.js";

const LONGEST = 40;

export class Teller {
  #ort;
  #manifest;
  #encoder;
  #decoder;
  #words;

  constructor({ ort, manifest, captions, sessions }) {
    this.#ort = ort;
    this.#manifest = manifest;
    this.#encoder = sessions.encoder;
    this.#decoder = sessions.decoder;
    this.#words = new Vocabulary(captions.words);
    this.name = manifest.experiment;
    this.language = captions.language;
  }

  tell(pixels, { hidden = [], seed = 0 } = {}) {
    return alone(async () => {
      const [, , ...shape] = this.#manifest.encoder.inputs.pixels;
      const values = Float32Array.from(pixels, (value) => value / 255);
      const seen = await this.#encoder.run({ pixels: this.#tensor("float32", values, [1, ...shape]) });
      const { keep, place } = this.#manifest.controls;
      const places = keep.shape[1];
      const may = new Uint8Array(places);
      for (const i of shown(places, hidden)) may[i] = 1;
      const open = this.#tensor("bool", may, [1, places]);
      const dice = seed ? mulberry32(seed) : null;
      const told = { weights: [], glimpses: [], gates: [] };
      const { start, decoder } = this.#manifest;
      let state = Object.fromEntries(Object.entries(start).map(([to, from]) => [to, seen[from]]));

      const once = (token, at) => {
        const feeds = { ...seen, ...state, token: this.#number(token), keep: open, place: this.#number(at) };
        return this.#decoder.run(pick(feeds, decoder.inputs));
      };
      const step = async ([token]) => {
        let out = await once(token, place.neutral);
        if (dice) out = await once(token, drawn(out.weights.data, dice()));
        state = Object.fromEntries(Object.keys(start).map((name) => [name, out[`next_${name}`]]));
        told.weights.push(Array.from(out.weights.data));
        told.glimpses.push(Number(out.glimpse.data[0]));
        told.gates.push(out.gate.data[0]);
        return { logits: out.logits.data, weights: null };
      };
      const found = await greedy({ step }, LONGEST);
      return {
        words: found.map(({ token }) => this.#words.words[token]),
        probability: found.map(({ gain }) => Math.exp(gain)),
        ...told,
        finished: found.at(-1).token === EOS,
      };
    });
  }

  #number(value) {
    return this.#tensor("int64", BigInt64Array.of(BigInt(value)), [1]);
  }

  #tensor(type, data, dims) {
    return new this.#ort.Tensor(type, data, dims);
  }
}

function pick(feeds, names) {
  return Object.fromEntries(Object.keys(names).map((name) => [name, feeds[name]]));
}

export function drawn(weights, number) {
  const sums = [];
  weights.forEach((weight, i) => sums.push((i ? sums[i - 1] : 0) + weight));
  const at = sums.findIndex((sum) => sum > number * sums.at(-1));
  return at < 0 ? largest(weights) : at;
}
