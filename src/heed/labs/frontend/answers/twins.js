// The twin of TwinsLab in heed/labs/twins.py. A test compares their answers.

import {latent, placesIn, pointed} from "../twins_plane.js";
import {read} from "../twins_reader.js";

export {model} from "../painters.js";

export const settings = ["seed", "x", "y", "dial", "choice", "point"];

export const models = (get) => get("models");

// While only the point moves, what was drawn stays.
const KEPT = 6;
const kept = new Map();

export async function answer(get, painters) {
  const [seed, x, y, dial, choice, point] = settings.map(get);

  async function painted(painter, loud) {
    const key = JSON.stringify([painter.name, seed, x, y, painter.attends ? loud : 1]);
    if (!kept.has(key)) {
      const z = latent(seed, x, y, painter.width);
      const found = await painter.paint(z, { dial: loud });
      kept.set(key, { ...found, packed: packed(found.picture), seen: told(read(found.picture)) });
      if (kept.size > KEPT) kept.delete(kept.keys().next().value);
    }
    return kept.get(key);
  }

  const found = [];
  for (const painter of painters) found.push(await painted(painter, dial));
  const chosen = found[choice];
  const attends = chosen.weights !== null;
  return {
    nets: found.map((each) => ({ picture: each.packed, ...each.seen })),
    look: attends ? look(chosen, point) : null,
    plain: attends ? (await painted(painters[choice], 0)).packed : null,
    message: "",
  };
}

function told({ things, ...rest }) {
  const own = ({ shape, hue, clear, box }) => ({ shape, hue, clear, box });
  return { things: things.map(own), ...rest };
}

function look({ weights, seen: { things } }, point) {
  const at = pointed(point, things, Math.round(Math.sqrt(weights.length)));
  const row = Array.from(weights[at]);
  const inside = things.map(({ box }) => placesIn(box, Math.round(Math.sqrt(row.length))));
  return {
    point: at,
    weights: row,
    falls: inside.map((places) => places.reduce((sum, place) => sum + row[place], 0)),
    even: inside.map((places) => places.length / row.length),
  };
}

function packed(picture) {
  return btoa(String.fromCharCode(...picture));
}
