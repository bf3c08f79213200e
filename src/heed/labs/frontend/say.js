// The words of the interface. They stand in strings.<language>.json, flat, by lab.
//
//   say(strings, key, values) -> string     fills {name} from values; numbers as they are given.
//                                           A key that is missing is shown itself, so it is seen.
//   sayer(strings, prefix) -> tell          tell(key, values): the words of one lab or part
//   share(number) -> "0.71"                 how weights and probabilities are written everywhere

export function say(strings, key, values = {}) {
  const text = strings?.[key];
  if (text === undefined) return key;
  return text.replace(/\{(\w+)\}/g, (whole, name) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}

export function sayer(strings, prefix) {
  return (key, values) => say(strings, `${prefix}.${key}`, values);
}

export function share(number) {
  return Number.isFinite(number) ? number.toFixed(2) : "–"; // the model wrote no number
}
