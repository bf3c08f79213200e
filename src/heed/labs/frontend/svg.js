// Small line drawings for the labs, at their real size, so that letters keep theirs on a phone.

const SPACE = "http://www.w3.org/2000/svg";

/** An SVG element. Strings among the children become text. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children);
  return element;
}

/** The d of a path through points [x, y]. */
export function through(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** Calls draw(width) when the box gets its width and whenever that changes. Returns a way to stop. */
export function fitted(box, draw) {
  let last = 0;
  const measure = () => {
    const width = Math.floor(box.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  };
  if (!globalThis.ResizeObserver) {
    const frame = requestAnimationFrame(measure); // in an old browser once, as it is
    return () => cancelAnimationFrame(frame);
  }
  const watch = new ResizeObserver(measure);
  watch.observe(box);
  return () => watch.disconnect();
}
