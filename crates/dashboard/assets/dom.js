// Creates elements. Text is only ever set as text, so that no name can become markup, and without
// what changes the direction of writing, so that none can look like another.

const SVG = "http://www.w3.org/2000/svg";

export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(typeof child === "string" ? plain(child) : child);
  }
  return element;
}

function plain(text) {
  return text.replace(/\p{Bidi_Control}/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

// A figure with the word for where it comes from.
export function number(n) {
  return el("span", { class: `number ${n.basis}` }, n.text,
    n.basis === "unknown" ? null : [" ", el("span", { class: "basis" }, n.basis)]);
}

// Where there is no room for columns, each cell says what it is.
export function table(caption, heads, rows) {
  const head = el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text)));
  for (const each of rows) heads.forEach((text, i) => each.children[i]?.setAttribute("data-head", text));
  const scroll = { class: "scroll", tabindex: "0", role: "region", "aria-label": caption };
  return el("div", scroll,
    el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, rows)));
}

export function row(...cells) {
  return el("tr", {}, cells.map((cell) => el("td", {}, cell)));
}

// A figure in a column of figures, behind its bar.
export function amount(text, before = null) {
  return el("span", { class: text === "unknown" ? "amount unknown number" : "amount number" }, before, text);
}

// A bar for those who see it, beside the figure as text. Parts follow each other, 0 to 100 together.
export function bar(...parts) {
  let x = 0;
  const rects = parts.map(([length, kind]) => {
    const rect = svg("rect", { x, width: length, height: 6, class: kind });
    x += length;
    return rect;
  });
  return svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 6, class: "track" }), rects);
}

export function leftOut(n, what) {
  return n > 0 ? el("p", { class: "note" }, `${n} more ${what} not shown`) : null;
}

export function findings(list) {
  const item = (one) => el("li", { class: one.severity },
    el("span", { class: "tag" }, one.severity), ` ${one.object}: ${one.message}. `,
    el("span", { class: "note" }, `${one.fix}.`));
  return el("ul", { class: "findings" }, list.map(item));
}

export function fact(label, value) {
  return el("div", { class: "fact" }, el("dt", {}, label), el("dd", {}, value));
}

export function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), children);
}

// Makes an element that is shown like a fresh one, and changes only what differs: focus, scrolling and
// selections stay where they are. What has the same `data-key` stays as it is.
export function renew(old, fresh) {
  if (old.nodeName !== fresh.nodeName || old.dataset?.key !== fresh.dataset?.key) {
    old.replaceWith(fresh);
    return;
  }
  if (fresh.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (fresh.dataset.key !== undefined) return;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const [now, then] = [[...old.childNodes], [...fresh.childNodes]];
  then.forEach((child, i) => (now[i] ? renew(now[i], child) : old.append(child)));
  now.slice(then.length).forEach((child) => child.remove());
}
