// A bandit, and who plays it by a rule; the twins of functions in heed/labs/bandit.py. A test compares
// them.
//
//   drawnBandit(seed, {arms, pulls}) -> {seed, p, pays}      pays: of each pull, what each arm would pay
//   await byRule(name, bandit) -> {arms, paid}               to the end; "gittins" or "greedy"
//   drawnArm(probabilities, number) -> arm
//   choices(seed) -> () => number                            the dice of a policy's choices
//   packed(numbers) -> string, unpacked(string) -> Uint8Array      from 0 to 1, as bytes in base 64

import {gittinsIndices} from "./gittins.js";
import {largest} from "./numbers.js";
import {mulberry32} from "./steering.js";

const [CHOICE, TIES] = [2 ** 31, 2 ** 30];

export const BESIDE = ["gittins", "greedy"];

export function drawnBandit(seed, { arms, pulls }) {
  const dice = mulberry32(seed);
  const p = Array.from({ length: arms }, dice);
  const pays = Array.from({ length: pulls }, () => p.map((each) => Number(dice() < each)));
  return { seed, p, pays };
}

export const choices = (seed) => mulberry32(seed + CHOICE);

export function drawnArm(p, number) {
  let total = 0;
  const sums = p.map((each) => (total += each));
  const found = sums.findIndex((sum) => sum > number * total);
  return found < 0 ? largest(p) : found;
}

export async function byRule(name, { seed, p, pays }) {
  const index = name === "gittins" ? await gittinsIndices(pays.length) : (left, w, l) => (w + 1) / (w + l + 2);
  const dice = mulberry32(seed + TIES);
  const [wins, losses] = [p.map(() => 0), p.map(() => 0)];
  const [arms, paid] = [[], []];
  pays.forEach((row, t) => {
    const worth = p.map((_, arm) => index(pays.length - t, wins[arm], losses[arm]));
    const most = Math.max(...worth);
    const best = worth.flatMap((each, arm) => (each === most ? [arm] : []));
    const arm = best[Math.floor(dice() * best.length)];
    arms.push(arm);
    paid.push(row[arm]);
    (row[arm] ? wins : losses)[arm] += 1;
  });
  return { arms, paid };
}

export function packed(numbers) {
  const byte = (value) => (Number.isFinite(value) ? Math.floor(255 * value + 0.5) : 0);
  const parts = [];
  for (let i = 0; i < numbers.length; i += 4096) {
    parts.push(String.fromCharCode(...Uint8Array.from(numbers.slice(i, i + 4096), byte)));
  }
  return btoa(parts.join(""));
}

export function unpacked(content) {
  return Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
}
