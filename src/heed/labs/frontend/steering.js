// Where a model must look; the twin of heed/labs/steering.py, number for number.
//
//   steering = {temperature = 1, hidden = [], look = "own", rows = {}, shuffle = 0, only = -1}
//   shown(length, hidden) -> [position]      those that may be looked at
//   gaze(steering, step, kept, length)       how the weights of one step are made: null leaves the
//       model's own, {row} forces a row, and {from(own)} makes one of the model's own row
//   held(window, step) -> p_t as it is said for a step, or null, which leaves it to the model
//       window = {radius, sigma, places = {}, still = null, monotonic = false}, of a Luong: D and σ
//       (Infinity for all and for no Gaussian, null for the model's own); p_t of single steps, of
//       all others, and whether it is t in those of which nothing else is said
//   permutation(count, seed) -> [index]; mulberry32(seed) -> () => number, the dice behind it

/** What would leave no position is ignored. */
export function shown(length, hidden = []) {
  const every = Array.from({ length }, (_, j) => j);
  const kept = every.filter((j) => !hidden.includes(j));
  return kept.length ? kept : every;
}

export function gaze({ look = "own", rows = {}, shuffle = 0, only = -1 }, step, kept, length) {
  if (look === "own" || (only !== -1 && only !== step)) return null;
  if (look === "uniform") return { row: shares(kept, length) };
  if (look === "yours") {
    const chosen = kept.filter((key) => rows[step]?.includes(key));
    return chosen.length ? { row: shares(chosen, length) } : null;
  }
  const order = permutation(kept.length, shuffle);
  return {
    from(own) {
      const row = Float32Array.from(own);
      kept.forEach((key, i) => (row[key] = own[kept[order[i]]]));
      return row;
    },
  };
}

export function held({ places, still = null, monotonic = false } = {}, step) {
  return places?.[step] ?? still ?? (monotonic ? step : null);
}

function shares(keys, length) {
  const row = new Float32Array(length);
  for (const key of keys) row[key] = 1 / keys.length;
  return row;
}

export function permutation(count, seed) {
  const random = mulberry32(seed);
  const places = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [places[i], places[j]] = [places[j], places[i]];
  }
  return places;
}

export function mulberry32(seed) {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
