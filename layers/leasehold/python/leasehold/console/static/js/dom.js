// Elements from values. Values become text or attributes, never markup: the page's policy would refuse that anyway.

const SVG = "http://www.w3.org/2000/svg";
const HANDLERS = ["onclick", "onsubmit", "onchange", "oninput"];

export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...flat(children));
  return node;
}

export function flat(children) {
  return [children].flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false);
}

// Make the children of a place like these, and keep what is alike: focus, scrolling, open details and selections
// survive an update.
export function patch(place, children) {
  const fresh = flat(children).map((each) => (each instanceof Node ? each : document.createTextNode(String(each))));
  const keyed = new Map([...place.childNodes].filter(keyOf).map((each) => [keyOf(each), each]));
  let next = place.firstChild;
  for (const wanted of fresh) {
    const key = keyOf(wanted);
    const found = key ? keyed.get(key) : next && !keyOf(next) ? next : null;
    if (found && found.nodeName === wanted.nodeName) {
      if (found === next) next = next.nextSibling;
      else place.insertBefore(found, next);
      keyed.delete(key);
      renew(found, wanted);
    } else {
      place.insertBefore(wanted, next);
    }
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

function renew(node, wanted) {
  if (node.nodeType === Node.TEXT_NODE) {
    if (node.data !== wanted.data) node.data = wanted.data;
    return;
  }
  for (const name of HANDLERS) node[name] = wanted[name];
  for (const { name } of [...node.attributes]) {
    if (!wanted.hasAttribute(name) && name !== "open") node.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  patch(node, [...wanted.childNodes]);
}

function keyOf(node) {
  return node.dataset?.key;
}
