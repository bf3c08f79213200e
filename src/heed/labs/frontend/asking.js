// Ask whoever answers, and never faster than it answers.
//
//   asker(model) -> ask
//       ask(changes)   sets them on the model at once and sends them off, if one of them is another
//                      value than before. While an answer is outstanding nothing more is sent; only
//                      the latest settings wait. They go when answer.count changes, or after 5
//                      seconds without an answer.
//       ask.stop()     for the view's clean-up: nothing is asked after it.
//   answered(model, names) -> boolean
//       whether the answer on the model is one to these settings as they are now. While it is not,
//       the places that it shows are those of another sentence.
//   expecting(model, names) -> boolean
//       whether such an answer is still to come. Where the model failed at it, none will: the answer
//       on the model is the one before, and says so

import {same} from "./store.js";

const PATIENCE = 5000;

export function asker(model) {
  let outstanding = false;
  let waiting = false;
  let stopped = false;
  let timer = 0;
  let count = model.get("answer")?.count;

  const send = () => {
    waiting = false;
    outstanding = true;
    clearTimeout(timer);
    timer = setTimeout(release, PATIENCE);
    model.save_changes();
  };
  const release = () => {
    clearTimeout(timer);
    outstanding = false;
    if (waiting) send();
  };
  const heard = () => {
    const now = model.get("answer")?.count;
    if (now === count) return;
    count = now;
    release();
  };
  model.on("change:answer", heard);

  const ask = (changes) => {
    if (stopped) return;
    const different = Object.keys(changes).some((name) => !same(model.get(name), changes[name]));
    if (!different) return;
    model.set(changes);
    if (outstanding) waiting = true;
    else send();
  };
  ask.stop = () => {
    stopped = true;
    clearTimeout(timer);
    model.off("change:answer", heard);
  };
  return ask;
}

export function answered(model, names) {
  const asked = model.get("answer")?.asked ?? {};
  return names.every((name) => same(asked[name], model.get(name)));
}

export function expecting(model, names) {
  return model.get("answer")?.message !== "failed" && !answered(model, names);
}
