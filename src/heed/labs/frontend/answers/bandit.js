// The twin of BanditLab in heed/labs/bandit.py. A test compares their answers.

import {BESIDE, byRule, choices, drawnArm, drawnBandit, packed} from "../bandits.js";
import {largest} from "../numbers.js";

export {model} from "../players.js";

export const settings = ["seed", "likeliest"];

export const models = (get) => get("models");

export async function answer(get, [player]) {
  const [seed, likeliest] = settings.map(get);
  const bandit = drawnBandit(seed, get("sizes"));
  const dice = choices(seed);
  const game = await player.play(bandit.pays.length, (t, p) => {
    const arm = likeliest ? largest(p) : drawnArm(p, dice());
    return { arm, reward: bandit.pays[t][arm] };
  });
  const players = { snail: told(game) };
  for (const name of BESIDE) players[name] = told(await byRule(name, bandit));
  return {
    p: bandit.p,
    pays: bandit.pays.map((row) => row.join("")),
    players,
    probabilities: packed(game.probabilities.flat()),
    looks: Object.fromEntries(game.looks.map((rows, i) => [`attention ${i + 1}`, packed(rows.flat())])),
    message: "",
  };
}

const told = ({ arms, paid }) => ({ arms: arms.join(""), paid: paid.join("") });
