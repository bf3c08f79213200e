// Elements without innerHTML: what a reader types is text and never becomes markup.
//
//   h(tag, attributes, ...children) -> element
//       attributes: any attribute by its name; true writes it empty, false/null/undefined leaves it
//       out; on: {event: function}; style: {property: value} (custom properties too).
//       children: elements, strings and numbers (text), arrays of these, null (nothing).
//       What can take the focus gets data-lm-suppress-shortcuts, or JupyterLab eats its keys.
//   replace(element, ...children)   new children instead of the old ones
//   setText(element, text), setAttribute(element, name, value), setProperty(element, name, value)
//                                   only if it differs: no needless work, no needless announcement.
//                                   A property is one of the element's style.
//   unique(prefix) -> string        an id that no other element of the page has

const FOCUSABLE = new Set(["input", "select", "textarea", "button", "summary"]);

export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, heard] of Object.entries(value)) element.addEventListener(event, heard);
    } else if (name === "style") {
      for (const [property, given] of Object.entries(value)) {
        element.style.setProperty(property, given);
      }
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  if (FOCUSABLE.has(tag) || element.hasAttribute("tabindex")) {
    element.dataset.lmSuppressShortcuts = "true";
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}

export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
}

// Other letters in the text that stands there cost a browser half of what a new text costs.
export function setText(element, text) {
  if (element.textContent === text) return;
  const only = element.childNodes.length === 1 ? element.firstChild : null;
  if (only instanceof Text) only.data = text;
  else element.textContent = text;
}

export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

export function setProperty(element, name, value) {
  const { style } = element;
  if (style.getPropertyValue(name) !== String(value)) style.setProperty(name, value);
}

let count = 0;

// The random part keeps two copies of this module on one page apart, as JupyterLab makes them.
const copy = Math.random().toString(36).slice(2, 7);

export function unique(prefix) {
  count += 1;
  return `${prefix}-${copy}-${count}`;
}
