// Scenes that a reader arranges; the twin of heed/labs/picture_scene.py, number for number: all of
// it in whole numbers. A test compares both.
//
//   scene = {animals: [{animal, colour, drawing, side, top, left, mirrored}], ground, horizon}
//   world, speech: what Python tells a page (`world` and `speech` there)
//   painted(scene, world) -> Uint8Array, channel by channel, row by row
//   silhouette(animal, drawing, world) -> Uint8Array of 0 and 1, row by row
//   order(animals, world) -> {slots, relations}, or null where nothing can rightly be said
//   right(scene, world, speech) -> [word], or null
//   boxes(scene, world) -> [[top, left, bottom, right]]
//   remarks(scene, world) -> [{about, …}]
//
// And what only a page does:
//
//   tidy(animals, world) -> animals, moved as little as it takes to stand as they do in training
//   another(random, world, {unseen}) -> a scene as training has them; unseen: but for one animal,
//       which has the colour that it never had there

const [LEFT, RIGHT, ABOVE, BELOW] = [0, 1, 2, 3];
const WAYS = [
  ["left", "top", [LEFT, RIGHT]],
  ["top", "left", [ABOVE, BELOW]],
];
const SHARES = [0.3, 0.4, 0.3]; // of scenes with one, two and three animals

// ---------------------------------------------------------------------- drawing

const unpacked = new Map();

export function silhouette(animal, drawing, world) {
  const packed = world.drawings[animal][drawing];
  if (!unpacked.has(packed)) {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const bit = (_, i) => (bytes[i >> 3] >> (7 - (i & 7))) & 1;
    unpacked.set(packed, Uint8Array.from({ length: world.side ** 2 }, bit));
  }
  return unpacked.get(packed);
}

// For each pixel of the picture the pixels of a silhouette that it shows, and how many 28ths of each.
function covered(length, start, { canvas, side }) {
  return Array.from({ length: canvas }, (_, pixel) => {
    const found = [];
    for (let source = 0; source < side; source += 1) {
      const from = source * length + start * side;
      const part = Math.min(from + length, (pixel + 1) * side) - Math.max(from, pixel * side);
      if (part > 0) found.push([source, part]);
    }
    return found;
  });
}

export function painted({ animals, ground, horizon }, world) {
  const { canvas, side } = world;
  const area = canvas * canvas;
  const picture = new Uint8Array(3 * area);
  const [sky, floor] = world.grounds[ground].paint;
  for (let c = 0; c < 3; c += 1) {
    picture.fill(sky[c], c * area, c * area + horizon * canvas);
    picture.fill(floor[c], c * area + horizon * canvas, (c + 1) * area);
  }
  const whole = side * side;
  for (const animal of animals) {
    const pixels = silhouette(animal.animal, animal.drawing, world);
    const { paint } = world.colours[animal.colour];
    const down = covered(animal.side, animal.top, world);
    const across = covered(animal.side, animal.left, world);
    for (let y = 0; y < canvas; y += 1) {
      for (let x = 0; x < canvas; x += 1) {
        let ink = 0;
        for (const [row, tall] of down[y]) {
          for (const [column, wide] of across[x]) {
            const at = animal.mirrored ? side - 1 - column : column;
            if (pixels[row * side + at]) ink += tall * wide;
          }
        }
        if (!ink) continue;
        for (let c = 0; c < 3; c += 1) {
          const i = c * area + y * canvas + x;
          const mixed = picture[i] * (whole - ink) + paint[c] * ink;
          picture[i] = Math.floor((2 * mixed + whole) / (2 * whole)); // halves up
        }
      }
    }
  }
  return picture;
}

export function boxes({ animals }, world) {
  const { side } = world;
  return animals.map((animal) => {
    const pixels = silhouette(animal.animal, animal.drawing, world);
    const [rows, columns] = [[], []];
    pixels.forEach((filled, i) => {
      if (!filled) return;
      rows.push(Math.floor(i / side));
      columns.push(animal.mirrored ? side - 1 - (i % side) : i % side);
    });
    const first = (all) => Math.floor((Math.min(...all) * animal.side) / side);
    const last = (all) => Math.ceil(((Math.max(...all) + 1) * animal.side) / side);
    return [
      animal.top + first(rows),
      animal.left + first(columns),
      animal.top + last(rows),
      animal.left + last(columns),
    ];
  });
}

// ---------------------------------------------------------------------- what is right

// 0 or 1: the half that an animal is in; null in both.
function half(animal, way, { canvas }) {
  if (animal[way] + animal.side <= canvas / 2) return 0;
  return animal[way] >= canvas / 2 ? 1 : null;
}

const middle = (animal, way) => animal[way] + Math.floor(animal.side / 2);

export function order(animals, world) {
  if (animals.length === 2) return two(animals, world);
  if (animals.length === 3) return three(animals, world);
  return animals.length ? { slots: [0], relations: [0] } : null;
}

function two(animals, world) {
  for (const [way, other, sides] of WAYS) {
    const halves = animals.map((each) => half(each, way, world));
    const middles = animals.map((each) => middle(each, other));
    const low = Math.max(Math.max(...middles) - world.aside, world.middle[0]);
    const high = Math.min(Math.min(...middles) + world.aside, world.middle[1]);
    if (halves.includes(null) || halves[0] === halves[1] || low > high) continue;
    const big = animals.map((each) => each.side >= world.big);
    const first = big[0] === big[1] ? halves.indexOf(0) : big.indexOf(true);
    return { slots: [first, 1 - first], relations: [0, sides[halves[first]]] };
  }
  return null;
}

const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

function three(animals, world) {
  const corners = animals.map((each) => [half(each, "top", world), half(each, "left", world)]);
  if (corners.some((corner) => corner.includes(null))) return null;
  if (new Set(corners.map(String)).size < corners.length) return null;
  for (const slots of ORDERS) {
    const [first, beside, apart] = slots.map((i) => corners[i]);
    const named =
      first[0] === beside[0] && first[1] === apart[1] && first[1] !== beside[1] && first[0] !== apart[0];
    if (!named) continue;
    return { slots, relations: [0, first[1] ? RIGHT : LEFT, first[0] ? BELOW : ABOVE] };
  }
  return null;
}

export function right({ animals, ground }, world, { leads, looks, tails }) {
  const arranged = order(animals, world);
  if (!arranged) return null;
  const said = arranged.slots.flatMap((i, slot) => {
    const { side, colour, animal } = animals[i];
    const lead = slot ? arranged.relations[slot] + 1 + 4 * (slot === 2) : 0;
    return [...leads[lead], ...looks[Number(side >= world.big)][colour][animal]];
  });
  return [...said, ...tails[ground]];
}

export function remarks({ animals, ground }, world) {
  if (!animals.length) return [{ about: "empty" }];
  const found = [];
  if (!order(animals, world)) found.push({ about: "arranged", of: String(animals.length) });
  const colours = animals.map((each) => each.colour);
  animals.forEach((each, i) => {
    const colour = world.colours[each.colour].name;
    const animal = world.animals[each.animal];
    const { name, shows } = world.grounds[ground];
    if (!shows[each.colour]) found.push({ about: "vanishes", colour, ground: name });
    if (colours.indexOf(each.colour) < i) found.push({ about: "twice", colour });
    if (world.unseen[each.animal] === each.colour) found.push({ about: "unseen", colour, animal });
    if (each.drawing >= world.known) found.push({ about: "drawing", animal });
  });
  return found;
}

// ---------------------------------------------------------------------- arranging

const within = (x, low, high) => Math.max(low, Math.min(high, x));

// Into one half of the picture, along one way.
function into(animal, way, where, { canvas }) {
  const low = where ? canvas / 2 : 0;
  return { ...animal, [way]: within(animal[way], low, low + canvas / 2 - animal.side) };
}

export function tidy(animals, world) {
  const found = tidied(animals, world);
  const far = (moved) =>
    moved.reduce((sum, each, i) => sum + Math.abs(each.top - animals[i].top) + Math.abs(each.left - animals[i].left), 0);
  return found.length ? found.reduce((best, each) => (far(each) < far(best) ? each : best)) : animals;
}

// All the ways to stand that are worth a thought.
function tidied(animals, world) {
  if (order(animals, world)) return [animals];
  if (animals.length === 2) {
    return WAYS.flatMap(([way, other]) =>
      [0, 1].map((first) => {
        const apart = animals.map((each, i) => into(each, way, i ^ first, world));
        const mean = Math.floor((middle(animals[0], other) + middle(animals[1], other)) / 2);
        const line = within(mean, ...world.middle);
        return apart.map((each) => {
          const near = line - Math.floor(each.side / 2);
          return { ...each, [other]: within(each[other], near - world.aside, near + world.aside) };
        });
      }),
    );
  }
  if (animals.length < 3) return [];
  return [0, 1, 2, 3].flatMap((free) => {
    const corners = [0, 1, 2, 3].filter((corner) => corner !== free);
    return ORDERS.map((slots) =>
      animals.map((each, i) => {
        const corner = corners[slots[i]];
        return into(into(each, "top", corner >> 1, world), "left", corner & 1, world);
      }),
    );
  });
}

export function another(random, world, { unseen = false } = {}) {
  const whole = (low, high) => low + Math.floor(random() * (high - low + 1));
  const pick = (list) => list[whole(0, list.length - 1)];
  const chance = random();
  const count = chance < SHARES[0] ? 1 : chance < SHARES[0] + SHARES[1] ? 2 : 3;
  const ground = whole(0, world.grounds.length - 1);
  const free = world.colours.map((_, i) => i).filter((i) => world.grounds[ground].shows[i]);
  const strange = unseen ? whole(0, count - 1) : -1;
  const animals = Array.from({ length: count }, (_, i) => {
    const [colour] = free.splice(whole(0, free.length - 1), 1);
    const kinds = world.animals.map((_, animal) => animal);
    const never = world.unseen.indexOf(colour);
    const animal = i === strange ? never : pick(kinds.filter((kind) => kind !== never));
    const side = pick(world.sizes);
    const [top, left] = [whole(0, world.canvas - side), whole(0, world.canvas - side)];
    const drawing = whole(0, world.known - 1);
    return { animal, colour, drawing, side, top, left, mirrored: random() < 0.5 };
  });
  const horizon = whole(...world.horizon);
  return { animals: tidy(animals, world), ground, horizon };
}
