// The window of a Luong, as the settings of the window lab have it; the twin of WindowLab.window and
// WindowLab.moved in heed/labs/window.py.
//
//   own = {attention: "global" | "local_m" | "local_p", radius, sigma, linked, hill}   of a model
//   windowOf(get) -> {radius, sigma, places, still, monotonic}      see held in steering.js
//   moved(window, own) -> whether that is another window than the model's own
//   placeAt(window, own, step, seen) -> p_t, the model's own as it was seen last; null for no window

import {held} from "./steering.js";

export function windowOf(get) {
  const [hand, everything] = [get("where") === "hand", get("everything")];
  const sigma = get("linked") ? get("radius") / 2 : get("sigma");
  return {
    radius: everything ? Infinity : get("radius"),
    sigma: everything || !get("hill") ? Infinity : sigma,
    places: hand ? get("places") : {},
    still: hand && get("still") >= 0 ? get("still") : null,
    monotonic: get("where") === "step",
  };
}

export function moved({ radius, sigma, places, still, monotonic }, own) {
  const said = Object.keys(places).length > 0 || still !== null;
  if (own.attention === "global") return said || monotonic;
  const stepped = monotonic && own.attention !== "local_m";
  return said || stepped || radius !== own.radius || sigma !== (own.hill ? own.sigma : Infinity);
}

export function placeAt(window, own, step, seen) {
  const said = held(window, step);
  if (said !== null) return said;
  if (own.attention === "local_m") return step;
  return own.attention === "global" ? null : (seen[step] ?? null);
}
