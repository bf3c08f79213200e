// Points, and what is right to say of them; the twins of functions in heed/data/tours.py and
// heed/labs/pointer.py. Tests compare them. Points are [x, y] and count from 0.
//
//   scattered(seed, count) -> [[x, y]]        the same ones as in the kernel
//   within(x) -> a place of the grid, from 0 to 1
//   shortest(points) -> [place]               the shortest tour, exactly (Held & Karp 1962)
//   good(points) -> [place]                   the best of n by nearest neighbours and 2-opt
//   hull(points) -> [place]                   its corners, counter-clockwise (Andrew 1979)
//   judged(task, points, order, finished) -> what an answer is worth: {valid, fault, task, right,
//       exact, alike, length, best, ratio, covered, falls}
//   named(answer) -> "3, 1, 2, ⇐"

import {mulberry32} from "./steering.js";

const GRID = 1000;
const MOST_EXACT = 12;

export function scattered(seed, count) {
  const dice = mulberry32(seed);
  return Array.from({ length: count }, () => [0, 1].map(() => Math.floor(GRID * dice()) / GRID));
}

const steps = (x) => Math.floor(GRID * x + 0.5);

export function within(x) {
  return steps(Math.max(0, Math.min(1, x))) / GRID;
}

// ---------------------------------------------------------------------------- tours

function distances(points) {
  return points.map(([ax, ay]) =>
    points.map(([bx, by]) => Math.sqrt((ax - bx) * (ax - bx) + (ay - by) * (ay - by))),
  );
}

function lengthOf(far, tour) {
  return tour.reduce((sum, from, i) => sum + far[from][tour[(i + 1) % tour.length]], 0);
}

/** The same tour from point 0 on, in the direction whose second point is the smaller one. */
function canonical(tour) {
  const at = tour.indexOf(0);
  const turned = [...tour.slice(at), ...tour.slice(0, at)];
  return turned[1] > turned.at(-1) ? [0, ...turned.slice(1).reverse()] : turned;
}

export function shortest(points) {
  const m = points.length - 1;
  if (m < 3) return points.map((_, i) => i);
  const far = distances(points);
  const whole = (1 << m) - 1;
  // C(S, j) at S m + j: the shortest way from point 0 through all of S that ends at j, counted from 1.
  const cost = new Float64Array((1 << m) * m).fill(Infinity);
  for (let inside = 1; inside <= whole; inside += 1) {
    for (let j = 0; j < m; j += 1) {
      if (!((inside >> j) & 1)) continue;
      const before = inside ^ (1 << j);
      let best = before ? Infinity : far[0][j + 1];
      for (let k = 0; before && k < m; k += 1) {
        const way = cost[before * m + k] + far[k + 1][j + 1];
        if (way < best) best = way;
      }
      cost[inside * m + j] = best;
    }
  }
  const tour = [];
  for (let [left, next] = [whole, 0]; left; ) {
    let last = -1;
    let best = Infinity;
    for (let k = 0; k < m; k += 1) {
      const way = cost[left * m + k] + far[k + 1][next];
      if (way < best) [last, best] = [k, way];
    }
    tour.push(last + 1);
    left ^= 1 << last;
    next = last + 1;
  }
  return canonical([0, ...tour]);
}

function nearest(far, start) {
  const tour = [start];
  const left = new Set(far.keys());
  left.delete(start);
  while (left.size) {
    const here = far[tour.at(-1)];
    let next = -1;
    for (const each of left) if (next < 0 || here[each] < here[next]) next = each;
    tour.push(next);
    left.delete(next);
  }
  return tour;
}

/** Turn round the stretch whose turning saves most, until none saves anything (Croes 1958). */
function mended(far, begun) {
  const n = begun.length;
  let tour = begun;
  for (;;) {
    let [most, from, to] = [1e-6, -1, -1]; // less is rounding
    for (let i = 0; i < n; i += 1) {
      for (let j = i + 1; j < n; j += 1) {
        const [a, b, c, d] = [tour[i], tour[i + 1], tour[j], tour[(j + 1) % n]];
        const saved = far[a][b] + far[c][d] - far[a][c] - far[b][d];
        if (saved > most) [most, from, to] = [saved, i, j];
      }
    }
    if (from < 0) return tour;
    const turned = tour.slice(from + 1, to + 1).reverse();
    tour = [...tour.slice(0, from + 1), ...turned, ...tour.slice(to + 1)];
  }
}

export function good(points) {
  const far = distances(points);
  let [best, length] = [null, Infinity];
  for (let start = 0; start < points.length; start += 1) {
    const tour = mended(far, nearest(far, start));
    const now = lengthOf(far, tour);
    if (now < length) [best, length] = [tour, now];
  }
  return canonical(best);
}

// ---------------------------------------------------------------------------- hulls

/** Positive if c lies to the left of the line from a to b. */
function turn([ax, ay], [bx, by], [cx, cy]) {
  return Math.sign((bx - ax) * (cy - ay) - (by - ay) * (cx - ax));
}

const onGrid = (point) => point.map(steps);

export function hull(points) {
  const places = points.map(onGrid);
  const ordered = [...places.keys()].sort(
    (a, b) => places[a][0] - places[b][0] || places[a][1] - places[b][1] || a - b,
  );
  const apart = ordered.filter((i, at) => !at || places[i].some((x, k) => x !== places[ordered[at - 1]][k]));
  const half = (some) => {
    const chain = [];
    for (const i of some) {
      while (chain.length > 1 && turn(places[chain.at(-2)], places[chain.at(-1)], places[i]) <= 0) chain.pop();
      chain.push(i);
    }
    return chain.slice(0, -1);
  };
  const corners = [...half(apart), ...half([...apart].reverse())];
  return corners.length ? turned(corners) : [0];
}

/** The same polygon from its smallest number on. */
function turned(corners) {
  const at = corners.length ? corners.indexOf(Math.min(...corners)) : 0;
  return [...corners.slice(at), ...corners.slice(0, at)];
}

function area(corners) {
  const round = corners.map(([x, y], i) => {
    const [nextX, nextY] = corners[(i + 1) % corners.length];
    return x * nextY - nextX * y;
  });
  return round.reduce((a, b) => a + b, 0) / 2;
}

/** Whether two sides of a polygon, not next to each other, have a point in common. */
function crosses(corners) {
  const n = corners.length;
  const side = (i) => [corners[i], corners[(i + 1) % n]];
  for (let i = 0; i < n; i += 1) {
    for (let j = i + 2; j < n; j += 1) {
      if ((j + 1) % n === i) continue;
      const [[a, b], [c, d]] = [side(i), side(j)];
      if (turn(a, b, c) * turn(a, b, d) <= 0 && turn(c, d, a) * turn(c, d, b) <= 0) return true;
    }
  }
  return false;
}

// ---------------------------------------------------------------------------- what it is worth

export function judged(task, points, order, finished) {
  const n = points.length;
  const worth = { task, right: [], exact: true, alike: false };
  for (const name of ["length", "best", "ratio", "covered", "falls"]) worth[name] = null;
  let fault = faultOf(task, points, order, finished);
  if (task === "tour") {
    worth.exact = n <= MOST_EXACT;
    worth.right = (worth.exact ? shortest : good)(points);
    const far = distances(points);
    worth.best = lengthOf(far, worth.right);
    if (!fault) {
      worth.length = lengthOf(far, order);
      worth.ratio = worth.best > 0 ? worth.length / worth.best : 1;
      worth.alike = worth.ratio <= 1 + 1e-6;
    }
  } else if (task === "sort") {
    const [first] = [points.map(([x]) => x)];
    worth.right = [...first.keys()].sort((a, b) => first[a] - first[b] || a - b);
    if (!fault) {
      worth.falls = order.slice(1).filter((i, at) => first[i] < first[order[at]]).length;
      worth.alike = worth.falls === 0;
    }
  } else {
    worth.right = hull(points);
    const sides = worth.right.length;
    worth.alike = finished && String(turned(order)) === String(worth.right) && sides > 2;
    if (worth.alike) fault = "";
    const whole = area(worth.right.map((i) => points[i]));
    if (!fault && whole > 0) worth.covered = Math.abs(area(order.map((i) => points[i]))) / whole;
  }
  return { valid: !fault, fault, ...worth };
}

function faultOf(task, points, order, finished) {
  if (!finished) return "unfinished";
  if (new Set(order).size < order.length) return "twice";
  if (task !== "hull") return order.length < points.length ? "left" : "";
  if (order.length < 3) return "few";
  return crosses(order.map((i) => onGrid(points[i]))) ? "cross" : "";
}

export function named({ order, finished }) {
  return [...order.map((i) => i + 1), ...(finished ? ["⇐"] : [])].join(", ");
}
