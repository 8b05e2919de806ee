// Draws the figures whose geometry the server has computed.

import { el, leftOut, svg } from "./dom.js";

// `says`: whether what it shows is listed below as sentences, where no table has it.
export function figure(f, says = false) {
  if (f.kind === "nothing") return el("p", { class: "note" }, `${f.why}.`);
  return f.kind === "matrix" ? matrix(f) : ribbons(f, says);
}

function kind(crosses) {
  if (crosses === null) return "unplaced";
  return crosses ? "cross" : "near";
}

// Ribbons are stretched to the width that is there; lanes and text are not.
function ribbons(f, says) {
  const paths = f.ribbons.map((r) =>
    svg("path", { d: r.path, class: `ribbon ${kind(r.crosses)}` }, svg("title", {}, r.title)));
  const lanes = f.lanes.map((lane) =>
    svg("rect", { y: lane.y, height: lane.height, rx: 2, class: `lane ${lane.side}` }));
  const texts = f.lanes.map((lane) =>
    svg("foreignObject", { y: lane.textY, height: lane.textHeight, class: `beside ${lane.side}` },
      el("p", { class: "name", title: lane.label }, lane.label), lane.note ? el("p", {}, lane.note) : null));
  const labels = f.ribbons.filter((r) => r.label).map((r) =>
    svg("text", { x: `${r.label.x}%`, y: r.label.y, class: "label" }, r.label.text));
  const head = [
    svg("text", { y: 14, x: 0, class: "head" }, "clients in"),
    svg("text", { y: 14, x: "100%", class: "head endpoints" }, "endpoints in"),
  ];
  const plot = (attributes, ...children) =>
    svg("foreignObject", { y: 0, height: f.height, class: "plot" },
      svg("svg", { height: f.height, ...attributes }, children));
  return el("figure", {},
    svg("svg", { height: f.height, role: "img", "aria-label": f.title, class: "ribbons" },
      svg("g", { "aria-hidden": "true" },
        head, plot({ viewBox: `0 0 100 ${f.height}`, preserveAspectRatio: "none" }, paths),
        lanes, plot({ class: "labels" }, labels), texts)),
    caption(f, f.ribbons.some((r) => r.crosses === null)),
    says ? el("details", {}, el("summary", {}, "In words"),
      el("ul", {}, f.ribbons.map((r) => el("li", {}, r.title)))) : null);
}

function caption(f, unplaced) {
  return el("figcaption", {}, el("span", { class: "key near" }, "stays in its zone"), " ",
    el("span", { class: "key cross" }, "crosses zones"), " ",
    unplaced ? [el("span", { class: "key unplaced" }, "zone unknown"), " "] : null,
    `${f.title}, ${f.basis}.`);
}

function matrix(f) {
  const head = el("tr", {}, el("th", { scope: "col" }, "from \\ to"),
    f.columns.map((name) => el("th", { scope: "col" }, name)));
  const cell = (c) => el("td", { class: `cell shade${c.shade} ${kind(c.crosses)}` }, c.text);
  const body = f.rows.map((r) => el("tr", {}, el("th", { scope: "row" }, r.label), r.cells.map(cell)));
  return el("figure", {},
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": f.title },
      el("table", { class: "matrix" }, el("thead", {}, head), el("tbody", {}, body))),
    leftOut(f.leftOut, "zones"),
    caption(f, f.rows.some((r) => r.cells.some((c) => c.crosses === null && c.shade > 0))));
}
