// A model that makes pictures, in the page: one ONNX graph, from z to a picture. Tests compare it with
// PyTorch, number for number.
//
//   new Painter({ort, manifest, sessions})      painters.js makes them
//       .name, .width (of z), .attends
//       await .paint(z, {dial = 1}) -> {values, picture, weights}
//           values: from −1 to 1, channel by channel, row by row; picture: the same as bytes. weights:
//           where each pixel of the attended map looks, a Float32Array for each; null without
//           attention. dial: γ is multiplied by it
//
// What is named how, and what leaves the model as it is, says the manifest
// (heed/experiments/export.py).

import {alone} from "./runtime.js";

export class Painter {
  #ort;
  #manifest;
  #session;

  constructor({ ort, manifest, sessions }) {
    this.#ort = ort;
    this.#manifest = manifest;
    this.#session = sessions.painter;
    this.name = manifest.experiment;
    [, , this.width] = manifest.painter.inputs.z;
    this.attends = "weights" in manifest.painter.outputs;
  }

  paint(z, { dial = 1 } = {}) {
    return alone(async () => {
      const feeds = { z: this.#tensor(z, [1, this.width]) };
      if ("dial" in this.#manifest.controls) feeds.dial = this.#tensor([dial], []);
      const { pictures, weights = null } = await this.#session.run(feeds);
      const values = Float32Array.from(pictures.data);
      return { values, picture: Uint8Array.from(values, toByte), weights: weights && rows(weights) };
    });
  }

  #tensor(values, dims) {
    return new this.#ort.Tensor("float32", Float32Array.from(values), dims);
  }
}

function toByte(value) {
  return Math.round((Math.max(-1, Math.min(1, value)) + 1) * 127.5);
}

function rows({ data, dims: [, count, places] }) {
  return Array.from({ length: count }, (_, i) => data.slice(i * places, (i + 1) * places));
}
