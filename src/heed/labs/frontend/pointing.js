// A network that points, in the page: two ONNX graphs and the search for its answer. The twin of
// `point` in heed/evaluation/pointing.py and of `allowed` in heed/models/pointer.py; tests compare
// them.
//
//   new Pointing({ort, manifest, sessions})     pointings.js makes them
//       .name, .wide (numbers that a point has)
//       await .point(points, {rule = "free", width = 1}) -> {order, finished, logProb, weights}
//           points: rows of numbers; order: places in them, from 0 on; weights: at each step over ⇐ and
//           the points
//   allowed(rule, chosen) -> [boolean]          where one may point next; key 0 is ⇐

import {alone} from "./runtime.js";

export function allowed(rule, chosen) {
  if (rule === "free") return chosen.map(() => true);
  const points = chosen.slice(1);
  const every = points.every(Boolean);
  const end = every || (rule === "polygon" && points.filter(Boolean).length >= 3);
  return [end, ...points.map((been) => !been)];
}

export class Pointing {
  #ort;
  #encoder;
  #decoder;
  #start;

  constructor({ ort, manifest, sessions }) {
    this.#ort = ort;
    this.#encoder = sessions.encoder;
    this.#decoder = sessions.decoder;
    this.#start = Object.entries(manifest.start);
    this.name = manifest.experiment;
    [, , , this.wide] = manifest.encoder.inputs.points;
  }

  point(points, { rule = "free", width = 1 } = {}) {
    return alone(() => this.#search(points, rule, width));
  }

  async #search(points, rule, width) {
    const n = points.length;
    const inputs = [Array(this.wide).fill(0), ...points].map((row) => row.slice(0, this.wide));
    const given = this.#tensor(inputs.slice(1).flat(), [1, n, this.wide]);
    const encoded = await this.#encoder.run({ points: given });
    const prepared = copies(encoded.prepared.data);
    const [, keys, wide] = encoded.prepared.dims;
    const first = this.#start.map(([to, from]) => [to, encoded[from].data]);
    const begin = {
      ...Object.fromEntries(first),
      ...{ chosen: Array(keys).fill(false), answer: [], rows: [], total: 0, done: false },
    };
    let beam = [begin];
    for (let step = 0; step <= n && !beam.every(({ done }) => done); step += 1) {
      const going = beam.filter(({ done }) => !done);
      const state = ["x", "h", "c"].map((name) => [
        name,
        this.#tensor(joined(going.map((each) => each[name])), [going.length, begin[name].length]),
      ]);
      const found = await this.#decoder.run({
        ...Object.fromEntries(state),
        prepared: this.#tensor(prepared(going.length), [going.length, keys, wide]),
      });
      const next = beam.filter(({ done }) => done).map((from) => ({ from, total: from.total, at: beam.indexOf(from), key: 0 }));
      going.forEach((from, i) => {
        const keep = allowed(rule, from.chosen);
        const row = softmax(found.logits.data.subarray(i * keys, (i + 1) * keys), keep);
        row.forEach((p, key) => {
          if (!keep[key]) return;
          const total = from.total + p.log;
          next.push({ from, row, total, key, i, at: beam.indexOf(from) });
        });
      });
      next.sort((a, b) => b.total - a.total || a.at - b.at || a.key - b.key);
      beam = next.slice(0, width).map(({ from, row, total, key, i }) => {
        if (from.done) return from;
        const own = ({ data, dims: [, size] }) => data.slice(i * size, (i + 1) * size);
        return {
          ...{ h: own(found.next_h), c: own(found.next_c), x: Float32Array.from(inputs[key]) },
          chosen: from.chosen.map((been, j) => been || j === key),
          answer: [...from.answer, key],
          rows: [...from.rows, row.map((p) => p.weight)],
          ...{ total, done: key === 0 },
        };
      });
    }
    // Whoever was cut off loses to whoever ended.
    const worth = ({ total, done }) => total - (done ? 0 : 1e9);
    const best = beam.reduce((a, b) => (worth(b) > worth(a) ? b : a));
    return {
      order: best.answer.filter((key) => key).map((key) => key - 1),
      finished: best.done,
      logProb: best.total,
      weights: best.rows,
    };
  }

  #tensor(values, dims) {
    return new this.#ort.Tensor("float32", Float32Array.from(values), dims);
  }
}

/** Weights and their logarithms; 0 where one may not point. */
function softmax(scores, keep) {
  const most = Math.max(...[...scores].filter((_, i) => keep[i]));
  const raised = Array.from(scores, (score, i) => (keep[i] ? Math.exp(score - most) : 0));
  const sum = raised.reduce((a, b) => a + b, 0);
  return raised.map((each, i) => ({ weight: each / sum, log: scores[i] - most - Math.log(sum) }));
}

function joined(rows) {
  const all = new Float32Array(rows.length * rows[0].length);
  rows.forEach((row, i) => all.set(row, i * row.length));
  return all;
}

/** The same numbers so many times; each count is laid out once. */
function copies(values) {
  const made = new Map();
  return (count) => {
    if (!made.has(count)) made.set(count, joined(Array(count).fill(values)));
    return made.get(count);
  };
}
