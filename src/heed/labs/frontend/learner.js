// A network that learns within an episode, in the page: one ONNX graph, which is shown all of it at
// once. Tests compare it with PyTorch, number for number.
//
//   new Learner({ort, manifest, sessions})      learners.js makes them
//       .name, .ways
//       await .ask(pictures, labels, asked) -> {probabilities, label, weights}
//           pictures: of each its 28 · 28 shares of ink; labels: of each, from 0 on; asked: the picture
//           whose label is wanted. weights: where each attention block looked, over the pictures and,
//           last, the asked one; none without attention

import {largest, softmax} from "./numbers.js";
import {alone} from "./runtime.js";

const NONE = -1n; // the label of what is asked about

export class Learner {
  #ort;
  #session;
  #side;

  constructor({ ort, manifest, sessions }) {
    this.#ort = ort;
    this.#session = sessions.episode;
    this.name = manifest.experiment;
    [, , this.ways] = manifest.episode.outputs.logits;
    [, , , this.#side] = manifest.episode.inputs.pictures;
  }

  ask(pictures, labels, asked) {
    return alone(async () => {
      const [steps, size] = [labels.length + 1, this.#side ** 2];
      const ink = new Float32Array(steps * size);
      [...pictures, asked].forEach((picture, i) => ink.set(picture, i * size));
      const numbers = BigInt64Array.from([...labels.map(BigInt), NONE]);
      const { logits, weights } = await this.#session.run({
        pictures: new this.#ort.Tensor("float32", ink, [1, steps, this.#side, this.#side]),
        labels: new this.#ort.Tensor("int64", numbers, [1, steps]),
      });
      const probabilities = softmax(Array.from(logits.data));
      return { probabilities, label: largest(probabilities), weights: weights ? rows(weights) : [] };
    });
  }
}

function rows({ data, dims: [, count, steps] }) {
  return Array.from({ length: count }, (_, i) => Array.from(data.slice(i * steps, (i + 1) * steps)));
}
