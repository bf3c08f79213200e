// Which of many numbers are worth a word.
//
//   largest(numbers)          the place of the largest; the first of equals
//   loudest(numbers, {least, most})      [place, number] of those from `least` up, largest first

export function largest(numbers) {
  let best = 0;
  for (let i = 1; i < numbers.length; i++) if (numbers[i] > numbers[best]) best = i;
  return best;
}

export function loudest(numbers, { least = 0.05, most = 4 } = {}) {
  const places = numbers.map((number, i) => [i, number]).filter(([, number]) => number >= least);
  return places.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, most);
}
