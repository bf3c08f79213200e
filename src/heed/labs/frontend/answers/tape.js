// The twin of TapeLab in heed/labs/tape.py. A test compares their answers.

import {inputsOf, packed, told} from "../tape_bits.js";

export {model} from "../machines.js";

export const settings = ["pattern", "step", "hands", "since"];

export const models = (get) => get("models");

// While the reader moves through the steps, what was run stays.
const KEPT = 4;
const kept = new Map();

export async function answer(get, [machine]) {
  const [pattern, step, hands, since] = settings.map(get);
  const steps = 2 * pattern.length + 1;
  const alone = await ran(machine, pattern, {}, 0);
  const byHand = Object.keys(hands).length > 0;
  const found = byHand ? await ran(machine, pattern, hands, Math.min(since, steps - 1)) : alone;
  const now = Math.min(step, steps - 1);
  const { read, write } = found.commands[now];
  return {
    said: found.said,
    wrong: found.wrong,
    of: found.said.length * found.said[0].length,
    alone: alone.wrong,
    writing: packed(found.writing),
    reading: packed(found.reading),
    now: {
      step: now,
      memory: packed([found.memory[now]], -1, 1),
      writing: Array.from(found.writing[now]),
      reading: Array.from(found.reading[now]),
      write,
      read,
    },
    message: "",
  };
}

async function ran(machine, pattern, hands, since) {
  const key = JSON.stringify([machine.name, pattern, hands, since]);
  if (!kept.has(key)) {
    const found = await machine.run(inputsOf(pattern), { hands: told(hands), since });
    const due = found.logits.slice(pattern.length + 1);
    const said = due.map((row) => Array.from(row, (score) => 1 / (1 + Math.exp(-score))));
    const wrong = due.reduce(
      (sum, row, i) => sum + row.filter((score, bit) => score > 0 !== (pattern[i][bit] === "1")).length,
      0,
    );
    kept.set(key, { ...found, said, wrong });
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }
  const run = kept.get(key);
  kept.delete(key);
  kept.set(key, run); // the one asked for last goes last
  return run;
}
