// Numbers: which of many are worth a word, shares, entropy.
//
//   largest(numbers)          the place of the largest; the first of equals
//   isNumber(value)           finite; a model that wrote no number has null there
//   finite(answer)            the same answer with null for what is no number, as Python sends it
//   softmax(scores, temperature = 1)    shares; zeros where nothing may be looked at (all −∞)
//   bits(rows)                entropy of a row of shares, the mean over the rows; 0 for none
//   loudest(numbers, {least, most})      [place, number] of those from `least` up, largest first

export function largest(numbers) {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}

export const isNumber = Number.isFinite;

export function finite(value) {
  if (typeof value === "number") return isNumber(value) ? value : null;
  if (Array.isArray(value)) return value.map(finite);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, finite(each)]));
}

export function loudest(numbers, { least = 0.05, most = 4 } = {}) {
  const places = numbers.map((number, i) => [i, number]).filter(([, number]) => number >= least);
  return places.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, most);
}

export function softmax(scores, temperature = 1) {
  const most = Math.max(...scores);
  if (most === -Infinity) return scores.map(() => 0);
  const parts = scores.map((score) => Math.exp((score - most) / temperature));
  const sum = parts.reduce((a, b) => a + b);
  return parts.map((part) => part / sum);
}

export function bits(rows) {
  if (!rows.length) return 0;
  const of = (total, p) => (p > 0 ? total - p * Math.log2(p) : total);
  const each = rows.map((row) => Math.max(0, row.reduce(of, 0)));
  return each.reduce((a, b) => a + b, 0) / rows.length;
}
