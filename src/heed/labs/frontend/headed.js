// What a reader does to a Transformer's heads and places; the twin of HeadsLab.changes in
// heed/labs/heads.py.
//
//   own = {layers: {encoder, decoder, cross}, heads}      how many a model has
//   PLACES                         where heads look, in the order in which a sentence meets them
//   CHANGES                        the settings that change what the model writes
//   UNCHANGED                      what they are while nothing is done
//   changesOf(get, own) -> the controls of the model's graphs; null while nothing is done
//   isOff(off, place, layer, head) -> boolean
//   switched(off, place, layer, head) -> the heads that are off when this one was switched over
//   shownOf(get, own) -> [place, layer, head] of the large map: the last that the model has, where
//                        the settings go beyond
//   axesOf(place, {source, target}) -> {query, key}: who looks in the maps of a place, at what

import {BOS, SPECIALS} from "./vocabulary.js";

export const PLACES = ["encoder", "decoder", "cross"];
export const UNCHANGED = {
  off: [],
  source_shift: 0,
  target_shift: 0,
  source_places: true,
  target_places: true,
};
export const CHANGES = Object.keys(UNCHANGED);

export function changesOf(get, own) {
  const off = get("off").filter(
    ([place, layer, head]) => layer <= own.layers[place] && head <= own.heads,
  );
  const moved = CHANGES.slice(1).some((name) => get(name) !== UNCHANGED[name]);
  if (!off.length && !moved) return null;
  const on = PLACES.map((place) => {
    const switches = new Array(own.layers[place] * own.heads).fill(1);
    for (const [where, layer, head] of off) {
      if (where === place) switches[(layer - 1) * own.heads + head - 1] = 0;
    }
    return [`${place}_on`, switches];
  });
  const rest = CHANGES.slice(1).map((name) => [name, get(name)]);
  return Object.fromEntries([...on, ...rest]);
}

const is = (place, layer, head) => (each) =>
  each[0] === place && each[1] === layer && each[2] === head;

export function isOff(off, place, layer, head) {
  return off.some(is(place, layer, head));
}

export function switched(off, place, layer, head) {
  const one = is(place, layer, head);
  return off.some(one) ? off.filter((each) => !one(each)) : [...off, [place, layer, head]];
}

export function shownOf(get, own) {
  const place = get("place");
  return [place, Math.min(get("layer"), own.layers[place]), Math.min(get("head"), own.heads)];
}

export function axesOf(place, { source, target }) {
  if (place === "encoder") return { query: source, key: source };
  return { query: target, key: place === "cross" ? source : [SPECIALS[BOS], ...target.slice(0, -1)] };
}
