// The only module that a page of the book loads: <heed-lab kind="alignment"> around a computed
// example and <script type="application/json">{"settings": {…}, "answer": {…}, "models": […], …}
// </script>: what the reader may change, and beside it what the view is told once.
//
// The view is mounted at once and draws the answer that came with the page. When the lab comes
// near, the model is fetched; from then on it answers each change of a setting. The latest change
// wins and never do two answers run at once.
//
// For tests: data-count (the answer drawn last; 0 came with the page), data-live once the model has
// answered, data-ms (the time from the change to the drawing).

import {h, setText} from "./dom.js";
import {say} from "./say.js";
import {store} from "./store.js";

const LANGUAGES = ["en"]; // of which there is a strings.<language>.json
const LIVE = new Set(["alignment", "predict", "bottleneck"]); // kinds that ask a model
const NEAR = "400px";

const here = (path) => new URL(path, import.meta.url).href;
const once = (make) => {
  let made;
  return () => (made ??= make());
};

const strings = once(async () => {
  const spoken = document.documentElement.lang.split("-")[0];
  const language = LANGUAGES.includes(spoken) ? spoken : "en";
  return (await fetch(here(`strings.${language}.json`))).json();
});

class HeedLab extends HTMLElement {
  #started = false;
  #model;
  #words;
  #status;
  #engine;
  #near = false;
  #busy = false;
  #again = false;
  #count = 0;

  connectedCallback() {
    if (this.#started) return;
    this.#started = true;
    this.#mount().catch((fault) => console.error(fault));
  }

  async #mount() {
    const kind = this.getAttribute("kind");
    const script = this.querySelector('script[type="application/json"]');
    const { settings, answer, ...facts } = JSON.parse(script.textContent);
    const traits = { ...facts, ...settings };
    const [words, { render }] = await Promise.all([strings(), import(here(`${kind}.js`))]);
    this.#words = words;
    const asleep = LIVE.has(kind) && !traits.models?.length; // nobody answers: nothing to ask with
    this.#model = store({ ...traits, asleep, strings: words, answer: { ...answer, count: 0 } });
    const el = h("div", { class: "heed-view" });
    this.#status = h("p", { class: "heed-status", "aria-live": "polite" });
    const drawn = [...this.childNodes];
    this.replaceChildren(el, this.#status); // first, since a view may measure
    try {
      render({ model: this.#model, el });
    } catch (fault) {
      this.replaceChildren(...drawn);
      throw fault;
    }
    this.dataset.count = "0";
    // A model that was changed after it was trained is nowhere to be fetched from.
    if (!LIVE.has(kind)) return;
    if (asleep) {
      this.#say("page.changed");
      return;
    }

    this.#model.on("saved", () => this.#answer());
    this.#say("page.example");
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
  }

  // The models that these settings need; a lab may come with all it needs to begin with.
  async #load(kind) {
    this.#engine ??= await Promise.all([
      import("./runtime.js"),
      import(here(`answers/${kind}.js`)),
    ]);
    const [runtime, engine] = this.#engine;
    return Promise.all(engine.models(this.#model.get).map(runtime.model));
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
    let models;
    try {
      if (!this.dataset.live) this.#say("page.loading");
      models = await this.#load(this.getAttribute("kind"));
    } catch (fault) {
      this.#fail("page.offline", fault);
      return;
    }
    const start = performance.now();
    const [, engine] = this.#engine;
    let answer;
    try {
      answer = await engine.answer(this.#model.get, models);
    } catch (fault) {
      this.#show(this.#model.get("answer")); // whoever asked must not wait for it
      this.#fail("page.failed", fault);
      return;
    }
    this.#show(answer);
    const ms = performance.now() - start;
    this.dataset.ms = ms.toFixed(1);
    this.dataset.live = "true";
    if (models.length) this.#say("page.live", { ms: Math.max(1, Math.round(ms)) });
    else this.#say("page.example");
  }

  #show(answer) {
    this.#count += 1;
    this.#model.set("answer", { ...answer, count: this.#count });
    this.dataset.count = String(this.#count);
  }

  #say(key, values) {
    // How long an answer took is not worth interrupting anybody for.
    this.#status.setAttribute("aria-live", key === "page.live" ? "off" : "polite");
    delete this.#status.dataset.fault;
    setText(this.#status, say(this.#words, key, values));
  }

  #fail(key, fault) {
    this.#say(key);
    this.#status.dataset.fault = "";
    console.error(fault);
  }
}

if (!customElements.get("heed-lab")) customElements.define("heed-lab", HeedLab);
