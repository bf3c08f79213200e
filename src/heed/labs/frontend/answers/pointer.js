// The twin of PointerLab in heed/labs/pointer.py. A test compares their answers.

import {judged} from "../tours.js";

export {model} from "../pointings.js";

export const settings = ["points", "choice", "masked", "width"];

export const models = (get) => [get("models")[get("choice")]];

const STRICT = { tour: "each_once", hull: "polygon", sort: "each_once" };

export async function answer(get, [network]) {
  const [points, choice, masked, width] = settings.map(get);
  const { task } = get("choices")[choice];
  const rule = masked ? STRICT[task] : "free";
  const { order, finished, weights, logProb } = await network.point(points, { rule, width });
  return {
    ...{ order, finished, weights },
    log_prob: logProb,
    ...judged(task, points, order, finished),
    message: "",
  };
}
