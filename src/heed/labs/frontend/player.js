// A policy that plays bandits, in the page: one ONNX graph, a step from pull to pull. Tests compare it
// with PyTorch, number for number.
//
//   new Player({ort, manifest, sessions})       players.js makes them
//       .name, .arms
//       await .play(pulls, choose) -> {arms, paid, probabilities, values, looks}, an entry for each pull
//           choose(t, probabilities) -> {arm, reward}, at each pull. looks: for each attention block
//           and each pull its weights over the beginning and the pulls before

import {softmax} from "./numbers.js";
import {alone} from "./runtime.js";

export class Player {
  #ort;
  #step;
  #width;

  constructor({ ort, manifest, sessions }) {
    this.#ort = ort;
    this.#step = sessions.step;
    this.name = manifest.experiment;
    [, , this.arms] = manifest.step.outputs.logits;
    [, , , this.#width] = manifest.step.inputs.seen;
  }

  play(pulls, choose) {
    return alone(async () => {
      const found = { arms: [], paid: [], probabilities: [], values: [], looks: [] };
      let seen = new this.#ort.Tensor("float32", new Float32Array(0), [1, 0, this.#width]);
      let told = -1; // nothing has happened yet
      for (let t = 0; t < pulls; t += 1) {
        const happened = new this.#ort.Tensor("int64", BigInt64Array.of(BigInt(told)), [1]);
        const out = await this.#step.run({ told: happened, seen });
        seen = out.next_seen;
        const p = softmax(Array.from(out.logits.data));
        const { arm, reward } = choose(t, p);
        found.arms.push(arm);
        found.paid.push(reward);
        found.probabilities.push(p);
        found.values.push(out.values.data[0]);
        const [, blocks = 0, keys = 0] = out.weights?.dims ?? [];
        for (let b = 0; b < blocks; b += 1) {
          found.looks[b] ??= [];
          found.looks[b].push(Array.from(out.weights.data.slice(b * keys, (b + 1) * keys)));
        }
        told = 2 * arm + reward;
      }
      return found;
    });
  }
}
