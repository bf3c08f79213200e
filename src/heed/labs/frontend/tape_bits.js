// What goes onto a tape and what is told to heads; the twins of functions in heed/labs/tape.py. A test
// compares them.
//
//   drawnBits(seed, length, bits) -> ["0110…"]    vectors of fair coins
//   inputsOf(pattern) -> [[…]]                    a row a step: the vectors, the mark, nothing
//   shares(far) -> [back, stay, on]               s for a shift by so much, from −1 to 1
//   told(hands) -> {read, write}                  the setting, as a Machine takes it
//   packed(rows, from, to) -> string              numbers as bytes in base 64; unpacked(string)
//   usedSlots(trails, slots) -> {first, count}    the shortest piece of the ring of slots that holds
//                                                 all where one of the trails (bytes) was

import {mulberry32} from "./steering.js";

const SEEN = 13; // of 255: a weight of .05
const ROOM = 1; // slots beyond those that are used, at each end

export function drawnBits(seed, length, bits) {
  const random = mulberry32(seed);
  const bit = () => (random() < 0.5 ? "1" : "0");
  return Array.from({ length }, () => Array.from({ length: bits }, bit).join(""));
}

export function inputsOf(pattern) {
  const bits = pattern[0].length;
  const blank = () => new Array(bits + 1).fill(0);
  const mark = blank();
  mark[bits] = 1;
  const vectors = pattern.map((vector) => [...[...vector].map(Number), 0]);
  return [...vectors, mark, ...pattern.map(blank)];
}

export function shares(far) {
  return [Math.max(-far, 0), 1 - Math.abs(far), Math.max(far, 0)];
}

export function told(hands) {
  const found = { read: {}, write: {} };
  for (const [name, value] of Object.entries(hands)) {
    const [head, command] = name.split(".");
    if (command === "shift") found[head].shifts = shares(value);
    else found[head][command] = value;
  }
  return found;
}

export function packed(rows, from = 0, to = 1) {
  const byte = (value) => {
    const part = (Math.max(from, Math.min(to, value)) - from) / (to - from);
    return Number.isFinite(part) ? Math.floor(255 * part + 0.5) : 0;
  };
  const parts = rows.map((row) => String.fromCharCode(...Uint8Array.from(row, byte)));
  return btoa(parts.join(""));
}

export function unpacked(content) {
  return Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
}

export function usedSlots(trails, slots) {
  const used = new Array(slots).fill(false);
  for (const trail of trails) {
    for (let i = 0; i < trail.length; i += 1) if (trail[i] >= SEEN) used[i % slots] = true;
  }
  // The longest stretch where nobody was; twice round, since it may lie across the end.
  let [longest, end, now] = [0, 0, 0];
  for (let i = 0; i < 2 * slots; i += 1) {
    now = used[i % slots] ? 0 : now + 1;
    if (now > longest && now <= slots) [longest, end] = [now, i + 1];
  }
  if (longest <= 2 * ROOM || longest === slots) return { first: 0, count: slots };
  const count = slots - longest + 2 * ROOM;
  // Slot 0 is where a head begins: nothing is gained by a piece that begins just before it.
  const first = (end - ROOM) % slots;
  return first === slots - ROOM ? { first: 0, count: count - ROOM } : { first, count };
}
