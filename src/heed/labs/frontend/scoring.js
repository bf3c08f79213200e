// The scores between a query and keys in the plane, and how they change with the query; the twin of
// score_in_plane in heed/labs/plane.py.
//
//   scorer({score, keys, d, strength, matrices}) -> (query) -> {scores, slopes}
//       slopes[j]: the gradient [x, y] of score j with respect to the query; null where there is none
//   isCosine(score), sizes(score) -> {d, strength}: which of the two the score depends on

const EPS = 1e-8;

export const isCosine = (score) => score === "content_base" || score === "unit_content_base";

export const sizes = (score) => ({
  d: score === "dot" || score === "scaled_dot",
  strength: score === "content_base",
});

const dot = ([a, b], [c, d]) => a * c + b * d;

export function scorer({ score, keys, d, strength, matrices }) {
  if (score === "additive") return additive(keys, matrices);
  if (isCosine(score)) return cosine(keys, score === "content_base" ? strength : 1);
  const rows = linear(score, keys, d, matrices);
  return (query) => ({ scores: rows.map((row) => dot(row, query)), slopes: rows });
}

// The others are linear in the query: row j times the query is score j.
function linear(score, keys, d, { general, location }) {
  if (score === "location_base") return location;
  if (score === "general") return keys.map((key) => general.map((row) => dot(row, key)));
  const copies = score === "scaled_dot" ? d / 2 / Math.sqrt(d) : d / 2;
  return keys.map(([x, y]) => [copies * x, copies * y]);
}

function additive(keys, { W, U, v }) {
  const prepared = keys.map((key) => U.map((row) => dot(row, key)));
  return (query) => {
    const asked = W.map((row) => dot(row, query));
    const hidden = prepared.map((each) => each.map((u, i) => Math.tanh(asked[i] + u)));
    return {
      scores: hidden.map((each) => each.reduce((sum, t, i) => sum + v[i] * t, 0)),
      slopes: hidden.map((each) =>
        [0, 1].map((x) => each.reduce((sum, t, i) => sum + v[i] * (1 - t * t) * W[i][x], 0)),
      ),
    };
  };
}

function cosine(keys, strength) {
  const unit = ([x, y]) => {
    const length = Math.max(Math.hypot(x, y), EPS);
    return [x / length, y / length];
  };
  const units = keys.map(unit);
  return (query) => {
    const length = Math.hypot(...query);
    const [x, y] = unit(query);
    const along = units.map((each) => dot(each, [x, y]));
    return {
      scores: along.map((c) => strength * c),
      // What turns the query counts, and not what makes it longer.
      slopes:
        length < EPS
          ? null
          : units.map(([a, b], j) => [
              (strength * (a - along[j] * x)) / length,
              (strength * (b - along[j] * y)) / length,
            ]),
    };
  };
}
