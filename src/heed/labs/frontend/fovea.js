// A picture as an eye has it; the twin of heed/layers/fovea.py. A test compares both.
//
//   picture: numbers from 0 to 1, channel by channel, row by row
//   pyramid(picture, {rows, columns}, levels = 5) -> [Float64Array], each coarser than the one before
//   fovea(levels, {rows, columns, x, y, half}) -> Float64Array, what who looks at (x, y) sees
//   shareSeen({rows, columns, x, y, half}) -> how many numbers such a look needs, as a share

const KERNEL = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16];

export function pyramid(picture, { rows, columns }, levels = 5) {
  const found = [Float64Array.from(picture)];
  for (let level = 1; level < levels; level += 1) {
    const step = 2 ** (level - 1);
    const across = blurred(found[level - 1], rows, columns, step, 0);
    found.push(blurred(across, rows, columns, 0, step));
  }
  return found;
}

function blurred(picture, rows, columns, right, down) {
  const out = new Float64Array(picture.length);
  const area = rows * columns;
  for (let start = 0; start < picture.length; start += area) {
    for (let y = 0; y < rows; y += 1) {
      for (let x = 0; x < columns; x += 1) {
        let sum = 0;
        for (let k = 0; k < 5; k += 1) {
          const i = Math.min(Math.max(y + (k - 2) * down, 0), rows - 1);
          const j = Math.min(Math.max(x + (k - 2) * right, 0), columns - 1);
          sum += KERNEL[k] * picture[start + i * columns + j];
        }
        out[start + y * columns + x] = sum;
      }
    }
  }
  return out;
}

const resolution = (distance, half) => half / (half + distance);

export function fovea(levels, { rows, columns, x, y, half }) {
  const area = rows * columns;
  const out = new Float64Array(levels[0].length);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const sharp = resolution(Math.hypot(column + 0.5 - x, row + 0.5 - y), half);
      const depth = Math.min(-Math.log2(sharp), levels.length - 1);
      const below = Math.min(Math.floor(depth), levels.length - 2);
      const part = depth - below;
      const [fine, coarse] = [levels[below], levels[below + 1]];
      for (let i = row * columns + column; i < out.length; i += area) {
        out[i] = fine[i] + (coarse[i] - fine[i]) * part;
      }
    }
  }
  return out;
}

export function shareSeen({ rows, columns, x, y, half }) {
  let sum = 0;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      sum += resolution(Math.hypot(column + 0.5 - x, row + 0.5 - y), half) ** 2;
    }
  }
  return sum / (rows * columns);
}
