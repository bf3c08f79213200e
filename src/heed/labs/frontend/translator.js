// A translator in the page: two ONNX graphs and two vocabularies. How it searches stands in
// decoding.js, where it must look in steering.js. Tests compare it with PyTorch, number for number.
//
//   new Translator({ort, manifest, vocabulary, sessions})      translators.js makes them
//       .name, .attends
//       .knows(word) -> boolean
//       await .translate(words, {width = 1, maxSteps, …steering}) -> {target, tokens, weights,
//             probability, log_prob, finished, align, places, maps}
//             target: words, "</s>" last if finished; weights: a row for each of them (Float32Array),
//             null without attention; probability: p of each; log_prob: their logs summed. Of a
//             Luong that writes in one beam, for each word too: align, its weights before the
//             Gaussian; places, the middle of its window, null where there is none; else both null.
//             Of a Transformer that does: maps, {encoder, decoder, cross}, each
//             [layer][head][row] (Float32Array); a row in decoder ends with the word written last.
//             What is done to it stands in steering.controls, by the names in its manifest: a number
//             or true or false for the whole input, or an array with all its numbers.
//       await .encode(words) -> {name: {data, dims}}  what the encoder says, by its outputs' names
//       await .force(words, target, steering) -> {logits: [Float32Array], weights: [Float32Array],
//             align, places, maps}
//             teacher forcing: a row for each word of target and one more for what follows
//
// The names of inputs and outputs are those that the manifest gives (heed/experiments/export.py).

import {beam, greedy} from "./decoding.js";
import {alone} from "./runtime.js";
import {gaze, held, shown} from "./steering.js";
import {BOS, EOS, Vocabulary} from "./vocabulary.js";

const ARRAYS = { float32: Float32Array, bool: Uint8Array };

export class Translator {
  #ort;
  #manifest;
  #sessions;
  #source;
  #target;
  #last = null; // what was read last: {key, found}

  constructor({ ort, manifest, vocabulary, sessions }) {
    this.#ort = ort;
    this.#manifest = manifest;
    this.#sessions = sessions;
    this.#source = new Vocabulary(vocabulary.source);
    this.#target = new Vocabulary(vocabulary.target);
    this.name = manifest.experiment;
    this.attends = "weights" in manifest.decoder.outputs;
  }

  knows(word) {
    return this.#source.has(word);
  }

  translate(words, { width = 1, maxSteps, ...steering } = {}) {
    return alone(async () => {
      const run = await this.#begin(words, width, steering);
      const limit = maxSteps ?? Math.max(20, 2 * words.length + 10);
      const found = await (width === 1 ? greedy(run, limit) : beam(run, limit, width));
      return { ...this.#told(found), ...run.windows(), maps: run.maps() };
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
      for (const token of [BOS, ...target.map((word) => this.#target.encode(word))]) {
        const out = await run.step([token]);
        logits.push(out.logits.slice());
        if (out.weights) weights.push(out.weights.slice());
      }
      return { logits, weights, ...run.windows(), maps: run.maps() };
    });
  }

  // While a reader steers, a sentence is read once and written over and over.
  async #read(words, said = {}) {
    if (!words.length) throw new RangeError("there are no words to read");
    const ids = BigInt64Array.from([...words.map((word) => this.#source.encode(word)), EOS], BigInt);
    const controls = controlsOf(this.#manifest, "encoder", { source: ids.length }, said);
    const key = [ids, ...Object.values(controls).map(({ data }) => data)].join(";");
    if (this.#last?.key !== key) {
      const feeds = {
        source: new this.#ort.Tensor("int64", ids, [1, ids.length]),
        source_lengths: new this.#ort.Tensor("int64", BigInt64Array.of(BigInt(ids.length)), [1]),
      };
      for (const [name, { type, data, dims }] of Object.entries(controls)) {
        feeds[name] = new this.#ort.Tensor(type, data, dims);
      }
      this.#last = { key, found: await this.#sessions.encoder.run(feeds) };
    }
    return this.#last.found;
  }

  async #begin(words, width, steering) {
    const encoded = await this.#read(words, steering.controls);
    return new Run({
      ort: this.#ort,
      manifest: this.#manifest,
      decoder: this.#sessions.decoder,
      size: this.#target.words.length,
      length: words.length + 1,
      encoded,
      width,
      steering,
    });
  }

  #told(found) {
    return {
      target: found.map(({ token }) => this.#target.words[token]),
      tokens: found.map(({ token }) => token),
      weights: this.attends ? found.map(({ weights }) => weights) : null,
      probability: found.map(({ gain }) => Math.exp(gain)),
      log_prob: found.reduce((sum, { gain }) => sum + gain, 0),
      finished: found.at(-1)?.token === EOS,
    };
  }
}

// One sentence that is being written: what decoding.js calls a run. What is fed again in each step
// is made once; the state moves.
class Run {
  #ort;
  #decoder;
  #steering;
  #length;
  #width;
  #step = 0;
  #fixed = {}; // input -> tensor, the same in each step
  #state = {}; // input -> {data, dims}
  #kept = null; // source positions that may be looked at
  #tokens;
  #controls = {}; // input -> the numbers in its tensor
  #windows = []; // [align, place] of each step, in one slot
  #read = null; // where the heads of the encoder looked: {data, dims}
  #looks = []; // and those of the decoder in each step, in one slot: {decoder, cross}

  constructor({ ort, manifest, decoder, size, length, encoded, width, steering }) {
    this.#ort = ort;
    this.#decoder = decoder;
    this.#steering = steering;
    this.#length = length;
    this.#width = width;
    this.size = size;
    for (const [name, output] of Object.entries(manifest.start)) {
      this.#state[name] = repeated(encoded[output], width);
    }
    for (const [name, { type, data, dims }] of Object.entries(encoded)) {
      if (!(name in manifest.decoder.inputs) || name in this.#state) continue;
      let values = data;
      if (name === "keep") {
        this.#kept = shown(length, steering.hidden);
        values = Uint8Array.from({ length }, (_, j) => Number(this.#kept.includes(j)));
      }
      const spread = repeated({ data: values, dims }, width);
      this.#fixed[name] = this.#tensor(type, spread.data, spread.dims);
    }
    this.#read = encoded.encoder_maps ?? null;
    this.#tokens = new BigInt64Array(width);
    this.#fixed.token = this.#tensor("int64", this.#tokens, [width]);
    const { temperature, window, controls } = steering;
    const said = { temperature, ...window, ...controls };
    const sizes = { batch: width, source: length };
    for (const [name, control] of Object.entries(controlsOf(manifest, "decoder", sizes, said))) {
      this.#controls[name] = control.data;
      this.#fixed[name] = this.#tensor(control.type, control.data, control.dims);
    }
  }

  async step(tokens) {
    tokens.forEach((token, slot) => (this.#tokens[slot] = BigInt(token)));
    const feeds = { ...this.#fixed };
    for (const [name, { data, dims }] of Object.entries(this.#state)) {
      feeds[name] = this.#tensor("float32", data, dims);
    }
    const place = this.#hold();
    await this.#look(feeds);
    const out = await this.#decoder.run(feeds);
    if (out.align && this.#width === 1) {
      this.#windows.push([out.align.data.slice(), out.places?.data[0] ?? place]);
    }
    if (this.#read && this.#width === 1) {
      this.#looks.push({ decoder: heads(out.decoder_maps), cross: heads(out.cross_maps) });
    }
    for (const name of Object.keys(this.#state)) {
      const { data, dims } = out[`next_${name}`];
      this.#state[name] = { data, dims };
    }
    this.#step += 1;
    return { logits: out.logits.data, weights: out.weights?.data ?? null };
  }

  goOn(parents) {
    for (const [name, state] of Object.entries(this.#state)) {
      this.#state[name] = picked(state, parents);
    }
  }

  windows() {
    const [none, all] = [!this.#windows.length, this.#windows];
    return {
      align: none ? null : all.map(([align]) => align),
      places: none ? null : all.map(([, place]) => place),
    };
  }

  maps() {
    if (!this.#looks.length) return null;
    const rows = (place) => {
      const [first] = this.#looks;
      const row = (layer, head) => this.#looks.map((each) => each[place][layer][head]);
      return first[place].map((of, layer) => of.map((_, head) => row(layer, head)));
    };
    return { encoder: heads(this.#read), decoder: rows("decoder"), cross: rows("cross") };
  }

  // Where somebody says that the window of this step is.
  #hold() {
    const { hold, place } = this.#controls;
    if (!hold) return null;
    const said = held(this.#steering.window, this.#step);
    hold.fill(Number(said !== null));
    place.fill(said ?? 0);
    return said;
  }

  // Force the weights of this step, if they are not the model's own. A row that is made of its own
  // one needs the step twice.
  async #look(feeds) {
    const { force, forced } = this.#controls;
    if (!force) return;
    force.fill(0);
    const looking = gaze(this.#steering, this.#step, this.#kept, this.#length);
    if (!looking) return;
    const own = looking.from && (await this.#decoder.run(feeds)).weights.data;
    for (let slot = 0; slot < this.#width; slot += 1) {
      const [start, end] = [slot * this.#length, (slot + 1) * this.#length];
      forced.set(looking.row ?? looking.from(own.subarray(start, end)), start);
    }
    force.fill(1);
  }

  #tensor(type, data, dims) {
    return new this.#ort.Tensor(type, data, dims);
  }
}

// What a graph is told besides the words: what leaves the model alone, but where something is said.
function controlsOf(manifest, graph, sizes, said) {
  const own = Object.entries(manifest.controls).filter(([name]) => name in manifest[graph].inputs);
  return Object.fromEntries(
    own.map(([name, { type, shape, neutral }]) => {
      const dims = shape.map((axis) => sizes[axis] ?? axis);
      const data = new ARRAYS[type](dims.reduce((a, b) => a * b, 1)).fill(Number(neutral));
      if (Array.isArray(said[name])) data.set(said[name]);
      else if (["number", "boolean"].includes(typeof said[name])) data.fill(Number(said[name]));
      return [name, { type, data, dims }];
    }),
  );
}

// The numbers of every head, layer by layer: of one that asks a row, of several their rows.
function heads({ data, dims }) {
  const [, layers, count, ...axes] = dims;
  const keys = axes.at(-1);
  const size = axes.reduce((a, b) => a * b, 1);
  const part = (start, length) => data.slice(start, start + length);
  const of = (start) =>
    axes.length === 1
      ? part(start, keys)
      : Array.from({ length: axes[0] }, (_, row) => part(start + row * keys, keys));
  return Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: count }, (_, head) => of((layer * count + head) * size)),
  );
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
