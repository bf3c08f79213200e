// The longest run of words that two sentences have in the same order, gaps allowed: what "came
// through" means. The same dynamic programme as `common` in heed/viz/bottleneck.py, ties included.
//
//   common(hypothesis, reference)   [place in the one, place in the other] of each such word; of
//                                   several longest runs the earliest
//   changes(now, before)            for each word of `now` whether it is no part of that run

export function common(hypothesis, reference) {
  const rows = hypothesis.length;
  const columns = reference.length;
  // best[i][j]: how many words hypothesis[i:] and reference[j:] share in order
  const best = Array.from({ length: rows + 1 }, () => new Int32Array(columns + 1));
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      best[i][j] =
        hypothesis[i] === reference[j]
          ? best[i + 1][j + 1] + 1
          : Math.max(best[i + 1][j], best[i][j + 1]);
    }
  }
  const pairs = [];
  let i = 0;
  let j = 0;
  while (i < rows && j < columns) {
    if (hypothesis[i] === reference[j]) {
      pairs.push([i, j]);
      i += 1;
      j += 1;
    } else if (best[i + 1][j] >= best[i][j + 1]) {
      i += 1;
    } else {
      j += 1;
    }
  }
  return pairs;
}

export function changes(now, before) {
  const changed = new Array(now.length).fill(true);
  for (const [i] of common(now, before)) changed[i] = false;
  return changed;
}
