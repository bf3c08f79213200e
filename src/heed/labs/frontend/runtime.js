// onnxruntime-web and the models, from this site's own folders, fetched when first asked for.
//
//   model(name) -> Promise of a Translator; a page has one of each, whichever labs ask for it
//   runtime() -> Promise of onnxruntime-web
//
// Beside the folder of this module lie ort/ (the runtime) and models/NAME/ (see heed/labs/site.py).
// What is large lies there as .gz, since many hosts of static pages compress neither. One thread:
// more would need headers that such hosts do not send.

import {Translator, alone} from "./translator.js";

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
  const at = (name) => new URL(`ort/${name}`, ROOT).href;
  const [ort, binary] = await Promise.all([
    import(at("ort.wasm.min.mjs")),
    inflated(at("ort-wasm-simd-threaded.wasm.gz")),
  ]);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = { mjs: at("ort-wasm-simd-threaded.mjs") };
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
  const at = (file) => new URL(`models/${name}/${file}`, ROOT).href;
  const json = async (file) => (await found(at(file))).json();
  const [ort, manifest, vocabulary, ...graphs] = await Promise.all([
    runtime(),
    json("export.json"),
    json("vocabulary.json"),
    inflated(at("encoder.onnx.gz")),
    inflated(at("decoder.onnx.gz")),
  ]);
  const options = { executionProviders: ["wasm"], logSeverityLevel: 3 };
  const sessions = [];
  for (const graph of graphs) {
    const make = () => ort.InferenceSession.create(new Uint8Array(graph), options);
    sessions.push(await alone(make));
  }
  const [encoder, decoder] = sessions;
  return new Translator({ ort, manifest, vocabulary, encoder, decoder });
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
