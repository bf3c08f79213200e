// What a picture of two things shows; the twin of `read` in heed/data/twins.py, which says why it is
// done so. A test compares them.
//
//   read(picture) -> {things: [left, right], gap, same_hue, same_shape, twins}
//       picture: 32 × 32 bytes for each of three channels, row by row
//       a thing: {shape, hue, clear, box: [top, left, bottom, right] in the picture, fit, saturation}

const SIDE = 32;
const HALF = SIDE / 2;
const AREA = SIDE * HALF;
const SHAPES = ["disc", "square", "triangle", "ring"];
const ROWS = [10, 22];
const COLUMNS = [3.5, 5.5];
const STEP = 0.5;
const RADIUS = [2.9, 3.75];
const SIZES = 4;
const HUE_APART = 1 / 24;
const CLEAR_FIT = 0.85;
const CLEAR_COLOUR = 0.25;

let fitted;

export function read(picture) {
  fitted ??= templates();
  const things = [false, true].map((mirrored) => fit(half(picture, mirrored), mirrored));
  const [left, right] = things;
  const apart = Math.abs(left.hue - right.hue) % 1;
  const gap = Math.min(apart, 1 - apart);
  const same = { same_hue: gap <= HUE_APART, same_shape: left.shape === right.shape };
  const twins = left.clear && right.clear && same.same_hue && same.same_shape;
  return { things, gap, ...same, twins };
}

// Three channels from 0 to 1, each less its mean, and the means; a right half as in a mirror.
function half(picture, mirrored) {
  return [0, 1, 2].map((channel) => {
    const values = Float64Array.from({ length: AREA }, (_, i) => {
      const column = i % HALF;
      const row = (i - column) / HALF;
      const at = mirrored ? SIDE - 1 - column : column;
      return picture[(channel * SIDE + row) * SIDE + at] / 255;
    });
    const mean = values.reduce((a, b) => a + b, 0) / AREA;
    return { mean, values: values.map((value) => value - mean) };
  });
}

function fit(channels, mirrored) {
  let best = null;
  for (const template of fitted) {
    const on = channels.map(({ values }) => along(template, values));
    const explained = on.reduce((sum, each) => sum + each * each, 0);
    if (!best || explained > best.explained) best = { template, on, explained };
  }
  const { template, on, explained } = best;
  const varied = channels.reduce((sum, { values }) => values.reduce((a, b) => a + b * b, sum), 0);
  const colour = channels.map(({ mean }, c) => mean + (on[c] / template.length) * (1 - template.mean));
  const { hue, saturation } = hueOf(colour);
  const share = explained / Math.max(varied, 1e-6);
  const { shape, row, radius } = template;
  const column = mirrored ? SIDE - template.column : template.column;
  return {
    shape: SHAPES[shape],
    hue,
    clear: share >= CLEAR_FIT && saturation >= CLEAR_COLOUR,
    box: [row - radius, column - radius, row + radius, column + radius],
    fit: share,
    saturation,
  };
}

// The values have mean 0, so the mean of the template adds nothing.
function along({ at, ink, length }, values) {
  let sum = 0;
  for (let i = 0; i < at.length; i += 1) sum += ink[i] * values[at[i]];
  return sum / length;
}

function templates() {
  const made = [];
  for (let shape = 0; shape < SHAPES.length; shape += 1) {
    for (let row = ROWS[0]; row <= ROWS[1]; row += STEP) {
      for (let column = COLUMNS[0]; column <= COLUMNS[1]; column += STEP) {
        for (let size = 0; size < SIZES; size += 1) {
          const radius = RADIUS[0] + (size * (RADIUS[1] - RADIUS[0])) / (SIZES - 1);
          made.push({ shape, row, column, radius, ...inked(shape, row, column, radius) });
        }
      }
    }
  }
  return made;
}

// The pixels of a half that a thing covers, how much of each; their mean over the half, and the
// length of what is left without it.
function inked(shape, row, column, radius) {
  const at = [];
  const ink = [];
  const reach = Math.ceil(1.5 * radius) + 1;
  for (let i = Math.max(0, Math.floor(row) - reach); i < Math.min(SIDE, row + reach); i += 1) {
    for (let j = 0; j < Math.min(HALF, column + reach); j += 1) {
      const outside = outlines[shape](j + 0.5 - column, i + 0.5 - row, radius);
      const covered = Math.max(0, Math.min(1, 0.5 - outside));
      if (!covered) continue;
      at.push(i * HALF + j);
      ink.push(covered);
    }
  }
  const sum = ink.reduce((a, b) => a + b, 0);
  const squares = ink.reduce((a, b) => a + b * b, 0);
  return { at, ink, mean: sum / AREA, length: Math.sqrt(squares - (sum * sum) / AREA) };
}

// How far a place is outside of each shape; x, y from its middle, y downwards.
const outlines = [
  (x, y, r) => Math.hypot(x, y) - r,
  (x, y, r) => Math.max(Math.abs(x), Math.abs(y)) - 0.9 * r,
  (x, y, r) => Math.max((2 * Math.abs(x) - y - 1.1 * r) / Math.sqrt(5), y - 0.9 * r),
  (x, y, r) => Math.abs(Math.hypot(x, y) - 0.75 * r) - 0.25 * r,
];

function hueOf(colour) {
  const [r, g, b] = colour.map((each) => Math.max(0, Math.min(1, each)));
  const value = Math.max(r, g, b);
  const chroma = value - Math.min(r, g, b);
  const safe = Math.max(chroma, 1e-9);
  let sixth = (r - g) / safe + 4;
  if (value === r) sixth = ((((g - b) / safe) % 6) + 6) % 6;
  else if (value === g) sixth = (b - r) / safe + 2;
  return { hue: chroma > 0 ? sixth / 6 : 0, saturation: chroma / Math.max(value, 1e-9) };
}
