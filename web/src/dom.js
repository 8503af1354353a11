// SPDX-License-Identifier: Apache-2.0
// Building and updating the page without a framework. Text only ever goes in as text, so a pool or
// a task may be named anything.

/** h('td.n#id', {title: 'x'}, 'text', child, [more]) */
export function h(tag, ...rest) {
  const [path, id] = tag.split('#');
  const [name, ...classes] = path.split('.');
  const node = document.createElement(name);
  if (id) node.id = id;
  if (classes.length) node.className = classes.join(' ');
  for (const part of rest.flat(Infinity)) {
    if (part === null || part === undefined || part === false) continue;
    if (part instanceof Node) node.append(part);
    else if (typeof part === 'object') setAll(node, part);
    else node.append(String(part));
  }
  return node;
}

function setAll(node, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node[key] = value;
    else if (key === 'style') Object.assign(node.style, value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
}

const handlers = ['onclick', 'onsubmit', 'oninput', 'onchange'];

const standsFor = new WeakMap();

/**
 * To be given to patch() for a node with data-keep that is made once. While that is on the page, it
 * is another that stands for it: h() would take it out of the page, and with it what has the focus.
 */
export function kept(node) {
  if (!node.isConnected) return node;
  const standIn = h(node.nodeName.toLowerCase(), { 'data-keep': node.dataset.keep });
  standsFor.set(standIn, node);
  return standIn;
}

/** With nothing in it that stands for another. */
function real(node) {
  for (const child of [...(node.children ?? [])]) {
    const meant = real(child);
    if (meant !== child) child.replaceWith(meant);
  }
  return standsFor.get(node) ?? node;
}

/**
 * Makes the children of `into` look like `nodes`, touching only what differs: focus, selection and
 * scrolling survive. What has data-keep (a chart, a form) is left as it is once it is there.
 */
export function patch(into, ...nodes) {
  const wanted = nodes.flat(Infinity).filter((node) => node instanceof Node);
  wanted.forEach((node, i) => {
    const present = into.childNodes[i];
    if (!present) into.append(real(node));
    else if (!alike(present, node)) present.replaceWith(real(node));
    else if (present.nodeType === Node.TEXT_NODE) {
      if (present.data !== node.data) present.data = node.data;
    } else if (!present.dataset.keep) {
      copyAttributes(present, node);
      patch(present, [...node.childNodes]);
    }
  });
  while (into.childNodes.length > wanted.length) into.lastChild.remove();
}

function alike(a, b) {
  return a.nodeName === b.nodeName && a.nodeType === b.nodeType &&
    (a.nodeType !== Node.ELEMENT_NODE || a.dataset.keep === b.dataset.keep);
}

function copyAttributes(to, from) {
  for (const { name } of [...to.attributes]) if (!from.hasAttribute(name)) to.removeAttribute(name);
  for (const { name, value } of from.attributes) {
    if (to.getAttribute(name) !== value) {
      if (name === 'style') to.style.cssText = value;
      else to.setAttribute(name, value);
    }
  }
  for (const handler of handlers) if (to[handler] !== from[handler]) to[handler] = from[handler];
}
