// onnxruntime-web and the models, from this site's own folders, fetched when first asked for.
//
//   model(name) -> Promise of {ort, manifest, sessions, …}: for each x.onnx that the manifest lists a
//       session, sessions.x; for each y.json what it says, as y. A page has one of each, whichever
//       labs ask for it. What they make of it is their answer modules' affair (see translators.js).
//   runtime() -> Promise of onnxruntime-web
//   both fail with an error that is `unable` if this browser cannot run models at all, and that has
//   a `type` and a `file` if the host sends a script as something else
//   alone(work) -> Promise of what the work gives: no two pieces of work run at a time
//
// Beside the folder of this module lie ort/ (the runtime) and models/NAME/ (see heed/labs/site.py).
// What is large lies there as .gz, since many hosts of static pages compress neither. One thread:
// more would need headers that such hosts do not send.

const ROOT = new URL("../", import.meta.url);

let loading = null;
const models = new Map();

export function runtime() {
  loading ??= load().catch((fault) => {
    loading = null; // the next one may have a network again
    throw fault;
  });
  return loading;
}

async function load() {
  if (!globalThis.WebAssembly || !globalThis.DecompressionStream) {
    throw unable(new Error("this browser has no WebAssembly or no DecompressionStream"));
  }
  const at = (name) => new URL(`ort/${name}`, ROOT).href;
  // The second module is onnxruntime's own. It would import it later, and never again if it did
  // not come then; so it is here before.
  const glue = at("ort-wasm-simd-threaded.mjs");
  const [ort, binary] = await Promise.all([
    imported(at("ort.wasm.min.mjs")),
    inflated(at("ort-wasm-simd-threaded.wasm.gz")),
    imported(glue),
  ]);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = { mjs: glue };
  ort.env.wasm.wasmBinary = binary;
  ort.env.logLevel = "error";
  return ort;
}

export function model(name) {
  if (!models.has(name)) {
    const promise = fetched(name).catch((fault) => {
      models.delete(name);
      throw fault;
    });
    models.set(name, promise);
  }
  return models.get(name);
}

async function fetched(name) {
  const [ort, { manifest, files }] = await Promise.all([runtime(), listed(name)]);
  const options = { executionProviders: ["wasm"], logSeverityLevel: 3 };
  const parts = { ort, manifest, sessions: {} };
  for (const [file, content] of files) {
    const [stem, ending] = file.split(".");
    if (ending === "json") parts[stem] = content;
    else {
      const make = () => ort.InferenceSession.create(new Uint8Array(content), options);
      parts.sessions[stem] = await alone(make).catch((fault) => {
        throw unable(fault);
      });
    }
  }
  return parts;
}

async function listed(name) {
  const at = (file) => new URL(`models/${name}/${file}`, ROOT).href;
  const json = async (file) => (await found(at(file))).json();
  const manifest = await json("export.json");
  const content = (file) => (file.endsWith(".json") ? json(file) : inflated(at(`${file}.gz`)));
  const fetching = Object.keys(manifest.files).map(async (file) => [file, await content(file)]);
  return { manifest, files: await Promise.all(fetching) };
}

let queue = Promise.resolve();

/** Work for the runtime, after all that was asked for before. All models share one stack in its
 * memory: where two of them run at a time, one overwrites what the other has not read yet. */
export function alone(work) {
  const done = queue.then(work);
  queue = done.catch(() => {});
  return done;
}

// A browser runs no module that the host calls anything but JavaScript, and does not say that this
// was the matter. Not every host knows .mjs.
async function imported(address) {
  try {
    return await import(address);
  } catch (fault) {
    const type = await found(address).then(
      (response) => response.headers.get("content-type") || "nothing",
      () => "", // it is not there: the fault said so
    );
    if (!type || /(java|ecma)script/i.test(type)) throw fault;
    const file = address.split("/").at(-1);
    throw Object.assign(new Error(`${file} came as ${type}`), { file, type: type.split(";")[0] });
  }
}

// A fault that no second try mends.
function unable(fault) {
  return Object.assign(fault, { unable: true });
}

async function found(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}: ${address}`);
  return response;
}

// A host may say that a .gz is compressed, and then the browser has inflated it already.
async function inflated(address) {
  const bytes = await (await found(address)).arrayBuffer();
  const [first, second] = new Uint8Array(bytes, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
