// Draws the figures whose geometry the server has computed.

import { el, svg } from "./dom.js";

export function figure(f) {
  if (f.kind === "nothing") return el("p", { class: "note" }, `${f.why}.`);
  return f.kind === "matrix" ? matrix(f) : ribbons(f);
}

function kind(crosses) {
  if (crosses === null) return "unplaced";
  return crosses ? "cross" : "near";
}

function ribbons(f) {
  const parts = f.ribbons.map((r) =>
    svg("path", { d: r.path, class: `ribbon ${kind(r.crosses)}` }, svg("title", {}, r.title)));
  const lanes = f.lanes.flatMap((lane) => {
    const left = lane.side === "clients";
    const x = left ? lane.x - 8 : lane.x + lane.width + 8;
    const y = lane.y + Math.min(lane.height / 2, 40);
    const anchor = left ? "end" : "start";
    return [
      svg("rect", { x: lane.x, y: lane.y, width: lane.width, height: lane.height, class: "lane" }),
      svg("text", { x, y, "text-anchor": anchor, class: "name" }, short(lane.label),
        svg("title", {}, lane.label),
        lane.note ? svg("tspan", { x, dy: 15, class: "small" }, lane.note) : null),
    ];
  });
  const labels = f.ribbons.filter((r) => r.label).map((r) =>
    svg("text", { x: r.label.x, y: r.label.y, "text-anchor": "middle", class: "label" }, r.label.text));
  const head = [
    svg("text", { x: 150, y: 16, "text-anchor": "end", class: "small" }, "clients"),
    svg("text", { x: 570, y: 16, class: "small" }, "endpoints"),
  ];
  return el("figure", {},
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": f.title },
      svg("svg", { viewBox: `0 0 ${f.width} ${f.height}`, role: "img", "aria-label": f.title, class: "ribbons" },
        head, parts, lanes, labels)),
    el("figcaption", {}, `${f.title} (${f.basis}). `,
      el("span", { class: "key near" }, "in zone"), " ", el("span", { class: "key cross" }, "across zones"),
      f.ribbons.some((r) => r.crosses === null) ? [" ", el("span", { class: "key unplaced" }, "zone unknown")] : null));
}

function short(text) {
  return text.length > 18 ? `${text.slice(0, 17)}…` : text;
}

function matrix(f) {
  const head = el("tr", {}, el("th", { scope: "col" }, "from \\ to"),
    f.columns.map((name) => el("th", { scope: "col" }, name)));
  const cell = (c) => el("td", { class: `cell shade${c.shade} ${kind(c.crosses)}` }, c.text);
  const body = f.rows.map((r) => el("tr", {}, el("th", { scope: "row" }, r.label), r.cells.map(cell)));
  const more = f.leftOut > 0 ? ` ${f.leftOut} more zones are in the table only.` : "";
  return el("figure", {},
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": f.title },
      el("table", { class: "matrix" }, el("thead", {}, head), el("tbody", {}, body))),
    el("figcaption", {}, `${f.title} (${f.basis}).${more}`));
}
