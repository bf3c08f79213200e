// The twin of PictureLab in heed/labs/picture.py. A test compares their answers. Only the model that
// is chosen is fetched.

import {boxes, painted, remarks, right} from "../picture_scene.js";

export {model} from "../tellers.js";

export const settings = ["animals", "ground", "horizon", "choice", "draw", "hidden"];

export const models = (get) => [get("models")[get("choice")]];

export async function answer(get, [teller]) {
  const scene = { animals: get("animals"), ground: get("ground"), horizon: get("horizon") };
  const world = get("world");
  const { hard } = get("choices")[get("choice")];
  const told = await teller.tell(painted(scene, world), {
    hidden: get("hidden"),
    seed: hard ? get("draw") : 0,
  });
  return {
    ...told,
    right: right(scene, world, get("speech")[teller.language]),
    remarks: remarks(scene, world),
    boxes: boxes(scene, world),
    message: "",
  };
}
