// The index of Gittins with a finite horizon: the twin of gittins_indices in
// heed/evaluation/bandits.py, on the same grid of payments. A test compares them, number for number.
//
//   await gittinsIndices(pulls) -> (left, wins, losses) => index      a page computes it once

const GRID = 401;
const AT_ONCE = 20; // payments, before whoever waits gets a turn
const made = new Map();

export function gittinsIndices(pulls) {
  if (!made.has(pulls)) made.set(pulls, computed(pulls));
  return made.get(pulls);
}

// Of each number of pulls that are left, n, there are the states with wins + losses ≤ pulls − n.
async function computed(pulls) {
  const side = pulls + 1;
  const first = [0]; // where the states of n begin
  for (let n = 1; n <= pulls + 1; n += 1) first.push(first[n - 1] + ((pulls - n + 2) * (pulls - n + 3)) / 2);
  const place = (n, wins, losses) => {
    const size = pulls - n;
    return first[n] + wins * (size + 1) - (wins * (wins - 1)) / 2 + losses;
  };
  const found = new Float64Array(first[pulls + 1]);
  const above = new Float64Array(found.length); // go − n λ of the payment before
  const value = new Float64Array(side * side);
  let before = 0;
  for (let g = 0; g < GRID; g += 1) {
    const payment = spaced(g);
    value.fill(0);
    for (let n = 1; n <= pulls; n += 1) {
      const size = pulls - n;
      const stop = n * payment;
      let at = first[n];
      for (let wins = 0; wins <= size; wins += 1) {
        for (let losses = 0; losses <= size - wins; losses += 1, at += 1) {
          const p = (wins + 1) / (wins + losses + 2);
          const here = wins * side + losses;
          const go = p * (1 + value[here + side]) + (1 - p) * value[here + 1];
          const over = go - stop;
          if (g && above[at] > 0 && over <= 0) {
            found[at] = before + (above[at] / (above[at] - over)) * (payment - before);
          }
          above[at] = over;
          value[here] = go > stop ? go : stop;
        }
      }
    }
    before = payment;
    if (g % AT_ONCE === AT_ONCE - 1) await new Promise((go) => setTimeout(go));
  }
  return (left, wins, losses) => found[place(left, wins, losses)];
}

// As torch.linspace: from both ends.
function spaced(g) {
  const step = 1 / (GRID - 1);
  return g < GRID / 2 ? step * g : 1 - step * (GRID - 1 - g);
}
