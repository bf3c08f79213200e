// A machine with a memory, in the page: two ONNX graphs, what a sequence begins with and a step. Tests
// compare it with PyTorch, number for number.
//
//   new Machine({ort, manifest, sessions})      machines.js makes them
//       .name
//       await .run(inputs, {hands = {}, since = 0})
//           -> {logits, reading, writing, memory, commands}, each with an entry for each step: a
//             Float32Array of scores, of weights over the slots, of the memory, slot by slot; and
//             commands {read, write}, each {strength, gate, shifts, focus}, as they were obeyed
//             inputs: a row of numbers a step. hands: {read: {gate: 1, shifts: [0, 0, 1]}, write: …},
//             what the heads are told in place of the controller, from the step `since` on
//
// One head of each kind is told of, the first. What is named how, and what leaves the machine as it
// is, says the manifest (heed/experiments/export.py).

import {alone} from "./runtime.js";

const ARRAYS = { float32: Float32Array, bool: Uint8Array };
const COMMANDS = ["strength", "gate", "shifts", "focus"];

export class Machine {
  #ort;
  #manifest;
  #sessions;
  #readers;

  constructor({ ort, manifest, sessions }) {
    this.#ort = ort;
    this.#manifest = manifest;
    this.#sessions = sessions;
    this.name = manifest.experiment;
    [, , this.#readers] = manifest.step.inputs.reading;
  }

  run(inputs, { hands = {}, since = 0 } = {}) {
    return alone(async () => {
      const found = { logits: [], reading: [], writing: [], memory: [], commands: [] };
      const first = await this.#sessions.start.run({});
      const begin = Object.entries(this.#manifest.start);
      let state = Object.fromEntries(begin.map(([name, from]) => [name, first[from]]));
      const [free, held] = [this.#controls({}), this.#controls(hands)];
      for (const [t, x] of inputs.entries()) {
        const feeds = { ...state, ...(t >= since ? held : free) };
        feeds.x = this.#tensor("float32", Float32Array.from(x), [1, x.length]);
        const out = await this.#sessions.step.run(feeds);
        state = Object.fromEntries(begin.map(([name]) => [name, out[`next_${name}`]]));
        found.logits.push(out.logits.data.slice());
        const { memory, reading, writing } = state;
        const [, , slots] = reading.dims; // of several heads of a kind, the first
        found.memory.push(memory.data.slice());
        found.reading.push(reading.data.slice(0, slots));
        found.writing.push(writing.data.slice(0, slots));
        found.commands.push({ read: told(out, 0), write: told(out, this.#readers) });
      }
      return found;
    });
  }

  #controls(hands) {
    const { controls } = this.#manifest;
    const made = ([name, { type, shape, neutral }]) => {
      const [, heads, wide = 1] = shape;
      const values = new ARRAYS[type](heads * wide).fill(Number(neutral));
      const [kind, command] = name.split("_");
      for (let head = 0; head < heads; head += 1) {
        const taken = hands[head < this.#readers ? "read" : "write"]?.[command];
        if (taken === undefined) continue;
        values.set(kind === "force" ? [1] : [taken].flat(), head * wide);
      }
      return [name, this.#tensor(type, values, [1, ...shape.slice(1)])];
    };
    return Object.fromEntries(Object.entries(controls).map(made));
  }

  #tensor(type, data, dims) {
    return new this.#ort.Tensor(type, data, dims);
  }
}

function told(out, head) {
  const of = (name) => {
    const [, , wide] = out[name].dims;
    return wide === undefined
      ? out[name].data[head]
      : Array.from(out[name].data.slice(head * wide, (head + 1) * wide));
  };
  return Object.fromEntries(COMMANDS.map((name) => [name, of(name)]));
}
