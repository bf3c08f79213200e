// The only module that a page of the book loads: <heed-lab kind="alignment"> around a computed
// example and <script type="application/json">{"settings": {…}, "answer": {…}, "models": […], …}
// </script>: what the reader may change, and beside it what the view is told once, and whether the
// lab is asked anything ("asks"); "models" is null where no model is needed for the answer.
//
// The view is mounted at once and draws the answer that came with the page. When the lab comes
// near, the model is fetched; from then on it answers each change of a setting that it is asked by.
// The latest change wins and never do two answers run at once. An answer says what it answers
// ("asked"): the reader may be further when it comes.
//
// For tests: data-count (the answer drawn last; 0 came with the page), data-live once the model has
// answered, data-ms (the time from the change to the drawing).

import {h, setText} from "./dom.js";
import {finite} from "./numbers.js";
import {say} from "./say.js";
import {store} from "./store.js";

const LANGUAGES = ["en"]; // of which there is a strings.<language>.json
const NEAR = "400px";
const SLACK = 240; // pixels under a view that has shrunk, before what follows it moves up

const here = (path) => new URL(path, import.meta.url).href;
const UNMOUNTED = "This lab did not load. Reload the page to try again."; // without strings.*.json

let coming;
function strings() {
  coming ??= fetchStrings().catch((fault) => {
    coming = undefined; // the next lab may have a network again
    throw fault;
  });
  return coming;
}

async function fetchStrings() {
  const spoken = document.documentElement.lang.split("-")[0];
  const language = LANGUAGES.includes(spoken) ? spoken : "en";
  const response = await fetch(here(`strings.${language}.json`));
  if (!response.ok) throw new Error(`${response.status}: ${response.url}`);
  return response.json();
}

class HeedLab extends HTMLElement {
  #mounting;
  #model;
  #words;
  #render;
  #view = h("div", { class: "heed-view" });
  #status = h("p", { class: "heed-status", "aria-live": "polite" });
  #stop; // while the view stands in the page
  #engine;
  #near = false;
  #changed = true; // what the engine is asked by, since it answered last
  #busy = false;
  #again = false;
  #count = 0;

  connectedCallback() {
    if (this.#model) this.#begin();
    else this.#mounting ??= this.#mount().catch((fault) => this.#unmounted(fault));
  }

  // The example stays, and nobody is left to wonder why nothing moves.
  #unmounted(fault) {
    this.append(h("p", { class: "heed-status", "data-fault": "" }, UNMOUNTED));
    console.error(fault);
  }

  disconnectedCallback() {
    this.#stop?.();
    this.#stop = undefined;
  }

  async #mount() {
    const kind = this.getAttribute("kind");
    const script = this.querySelector('script[type="application/json"]');
    const { settings, answer, ...facts } = JSON.parse(script.textContent);
    const traits = { ...facts, ...settings };
    const [words, { render }] = await Promise.all([strings(), import(here(`${kind}.js`))]);
    this.#words = words;
    this.#render = render;
    // A model that was changed after it was trained is nowhere to be fetched from. A lab that asks
    // none has null there: what it needs to answer comes with its module.
    const asleep = Boolean(traits.asks && traits.models && !traits.models.length);
    this.#model = store({ ...traits, asleep, strings: words, answer: { ...answer, count: 0 } });
    if (asleep) this.#say("page.changed");
    else if (traits.asks) this.#beforehand();
    if (traits.asks && !asleep) this.#model.on("saved", () => this.#changed && this.#answer());
    if (this.isConnected) this.#begin();
    this.dataset.count = "0";
  }

  // The view, from now until the element leaves the page. It may come back.
  #begin() {
    const drawn = [...this.childNodes];
    this.replaceChildren(this.#view, this.#status); // first, since a view may measure
    let stop;
    try {
      stop = this.#render({ model: this.#model, el: this.#view });
    } catch (fault) {
      this.replaceChildren(...drawn);
      throw fault;
    }
    const near = this.#approach();
    const still = steady(this.#view);
    this.#stop = () => {
      near?.disconnect();
      still?.disconnect();
      this.#near = this.#again = false;
      stop?.();
    };
  }

  #approach() {
    if (!this.#model.get("asks") || this.#model.get("asleep")) return null;
    if (!this.#model.get("models")) {
      this.#near = true;
      this.#answer();
      return null;
    }
    const near = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        near.disconnect();
        this.#near = true;
        this.#answer();
      },
      { rootMargin: NEAR },
    );
    near.observe(this);
    return near;
  }

  async #load(kind) {
    const engine = await import(here(`answers/${kind}.js`));
    const events = engine.settings.map((name) => `change:${name}`).join(" ");
    this.#model.on(events, () => (this.#changed = true));
    return engine;
  }

  // Answer the settings as they are now; what changes meanwhile is answered afterwards, once.
  async #answer() {
    this.#again = true;
    if (this.#busy || !this.#near) return;
    this.#busy = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#once();
      }
    } finally {
      this.#busy = false;
    }
  }

  async #once() {
    let asked, get, models;
    try {
      if (!this.dataset.live && this.#model.get("models")) this.#say("page.loading");
      this.#engine ??= await this.#load(this.getAttribute("kind"));
      this.#changed = false;
      asked = Object.fromEntries(
        this.#engine.settings.map((name) => [name, this.#model.get(name)]),
      );
      get = (name) => (name in asked ? asked[name] : this.#model.get(name));
      // A lab may come with all it needs to begin with.
      models = await Promise.all(this.#engine.models?.(get).map(this.#engine.model) ?? []);
    } catch (fault) {
      this.#fail(fault.unable ? "page.unable" : fault.type ? "page.type" : "page.offline", fault);
      return;
    }
    if (this.#again) return; // while the model was on its way the reader has gone further
    const start = performance.now();
    let answer;
    try {
      answer = { ...finite(await this.#engine.answer(get, models)), asked };
    } catch (fault) {
      this.#fail("page.failed", fault);
      return;
    }
    this.#show(answer);
    const ms = performance.now() - start;
    this.dataset.ms = ms.toFixed(1);
    this.dataset.live = "true";
    if (models.length) this.#say("page.live", { ms: Math.max(1, Math.round(ms)) });
    else this.#beforehand();
  }

  #show(answer) {
    this.#count += 1;
    this.#model.set("answer", { ...answer, count: this.#count });
    this.dataset.count = String(this.#count);
  }

  // What a reader has to do to hear the model itself is not the same in each lab.
  #beforehand() {
    if (!this.#model.get("models")) return this.#say("page.computed");
    const own = `page.example.${this.getAttribute("kind")}`;
    this.#say(own in this.#words ? own : "page.example");
  }

  #say(key, values) {
    // How long an answer took is not worth interrupting anybody for.
    this.#status.setAttribute("aria-live", key === "page.live" ? "off" : "polite");
    delete this.#status.dataset.fault;
    setText(this.#status, say(this.#words, key, values));
  }

  #fail(key, fault) {
    this.#changed = true;
    this.#show(this.#model.get("answer")); // whoever asked must not wait for it
    this.#say(key, fault);
    this.#status.dataset.fault = "";
    console.error(fault);
  }
}

/** While a view grows and shrinks a little under the reader's hand, what follows it stands still: its
 * box keeps the room that it once needed. So a reader keeps the place, and a browser need not lay
 * out the rest of a long page. */
function steady(view) {
  if (!globalThis.ResizeObserver || !view.firstElementChild) return null;
  let [width, room] = [0, 0];
  const watch = new ResizeObserver(([{ borderBoxSize }]) => {
    const [{ inlineSize, blockSize }] = borderBoxSize;
    if (inlineSize === width && blockSize <= room && blockSize >= room - SLACK) return;
    [width, room] = [inlineSize, blockSize];
    view.style.minHeight = `${blockSize}px`;
  });
  watch.observe(view.firstElementChild);
  return watch;
}

if (!customElements.get("heed-lab")) customElements.define("heed-lab", HeedLab);
