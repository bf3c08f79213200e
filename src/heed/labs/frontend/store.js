// What a view sees of the world: the names and the habits of anywidget's model.
//
//   store(initial) -> {get, set, on, off, save_changes}
//       get(name); set(name, value) or set({name: value, …})
//       on("change:NAME", heard), on("change", heard), off(event, heard); several events in one
//       string, separated by spaces. set speaks at once, and only if the value is another one.
//       save_changes() sends the settings off: in the page it speaks "saved", which the engine hears.

export function store(initial) {
  const values = { ...initial };
  const listeners = new Map();
  const speak = (event, ...details) => {
    for (const heard of [...(listeners.get(event) ?? [])]) heard(...details);
  };
  const model = {
    get: (name) => values[name],
    set(name, value) {
      const changes = typeof name === "string" ? { [name]: value } : name;
      const different = Object.keys(changes).filter((key) => !same(values[key], changes[key]));
      Object.assign(values, changes);
      for (const key of different) speak(`change:${key}`, model, values[key]);
      if (different.length) speak("change", model);
    },
    on(events, heard) {
      for (const event of events.split(" ")) {
        if (!listeners.has(event)) listeners.set(event, new Set());
        listeners.get(event).add(heard);
      }
    },
    off(events, heard) {
      for (const event of events.split(" ")) {
        if (heard) listeners.get(event)?.delete(heard);
        else listeners.delete(event);
      }
    },
    save_changes: () => speak("saved", model),
  };
  return model;
}

/** Whether two values of a setting are the same JSON. */
export function same(a, b) {
  return a === b || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));
}
