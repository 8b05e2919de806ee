// The page about priority and fairness. Figures are measured; the server has computed all of them.

import { el, fact, leftOut, number, row, section, svg, table } from "./dom.js";

export function fairness(page, asked, go) {
  const served = page.served;
  return [
    el("h1", {}, "Fairness"),
    el("p", { class: "sentence" }, page.sentence),
    page.missing.length > 0 ? section("What could not be read", missing(page.missing)) : null,
    el("dl", { class: "facts" },
      fact("Seats in use", number(page.used)),
      fact("Nominal seats of all levels", number(page.seats)),
      fact("Waiting requests", number(page.waiting))),
    section("Priority levels", legend(), el("div", { class: "lanes" }, page.lanes.map(lane)), lanes(page),
      leftOut(page.lanesLeftOut, "levels")),
    section("Queues", page.queues.maps.map(heat), page.queues.note ? el("p", { class: "note" }, page.queues.note) : null),
    section("Flows", flows(page), leftOut(page.flowsLeftOut, "flows"),
      page.flowsNote ? el("p", { class: "note" }, page.flowsNote) : null),
    served
      ? section("Rejections", rejections(served), leftOut(served.rejectionsLeftOut, "rows")) : null,
    served
      ? section("Rules", rules(served), leftOut(served.rulesLeftOut, "rules")) : null,
    page.ignored.length > 0
      ? section("Ignored objects", el("ul", {}, page.ignored.map((why) => el("li", {}, why))), leftOut(page.ignoredLeftOut, "objects")) : null,
    section("Which rule takes a request?", form(asked, go), page.request ? answer(page.request) : null),
  ];
}

function missing(list) {
  const one = (m) => el("li", { class: "warning" },
    el("span", { class: "tag" }, "missing"), ` ${m.what}: ${m.why}. `, el("span", { class: "note" }, `To do: ${m.fix}.`));
  return el("ul", { class: "findings" }, list.map(one));
}

// The hatching and what each kind of bar means, once for all lanes.
function legend() {
  const key = (text, ...marks) => el("span", { class: "lane-key" },
    svg("svg", { viewBox: "0 0 30 14", width: 30, height: 14, "aria-hidden": "true" }, marks), ` ${text}`);
  const box = (name) => svg("rect", { x: 1, y: 1, width: 28, height: 12, class: name });
  const hatching = svg("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { width: 2.5, height: 6, class: "hatch-line" }));
  return el("p", { class: "note legend" },
    key("in use", svg("defs", {}, hatching), box("lane-used")),
    key("nominal seats", box("lane-track")),
    key("borrowed from other levels", box("lane-track"), svg("rect", { x: 1, y: 1, width: 28, height: 12, class: "lane-borrowed", fill: "url(#hatch)" })),
    key("lent to other levels", box("lane-lent")));
}

function lane(l) {
  const bar = (from, to, name, more = {}) => svg("rect", { x: `${from}%`, y: 1, width: `${Math.max(to - from, 0)}%`, height: 18, class: name, ...more });
  const b = l.bar;
  const parts = [];
  if (b.track !== null) parts.push(bar(0, b.lent ? b.lent[0] : b.track, "lane-track"));
  if (b.lent) parts.push(bar(b.lent[0], b.lent[1], "lane-lent"));
  if (b.borrowed) parts.push(bar(b.borrowed[0], b.borrowed[1], "lane-track"));
  if (b.used !== null) parts.push(bar(0, b.used, l.state === "full" ? "lane-used full" : "lane-used"));
  if (b.borrowed) parts.push(bar(b.borrowed[0], b.borrowed[1], "lane-borrowed", { fill: "url(#hatch)" }));
  const state = l.state ? [" ", el("span", { class: `tag ${l.state.replaceAll(" ", "-")}` }, l.state)] : null;
  return el("div", { class: "level" },
    el("h3", {}, l.level, state),
    parts.length > 0 ? svg("svg", { height: 20, class: "lane-bar", "aria-hidden": "true" }, parts) : null,
    el("p", { class: "note" }, l.words),
    l.held ? el("p", {}, l.held) : null);
}

function lanes(page) {
  const one = (l) => row(l.level, l.handling, l.used.text, l.limit.text, l.nominal.text,
    l.lower.value === null && l.upper.value === null ? "unknown" : `${l.lower.text} to ${l.upper.text}`, l.borrowed.text, l.lent.text, l.waiting.text, l.longest.text);
  return table("Seats of each level, measured; the limit changes with the demand",
    ["Level", "Beyond its seats", "In use", "Limit now", "Nominal", "Least to most", "Borrowed", "Lent", "Waiting", "Longest wait"],
    page.lanes.map(one));
}

function heat(map) {
  const cell = (c) => [
    svg("rect", { x: c.x, y: c.y, width: 20, height: 20, class: `heat ${c.kind}`, "fill-opacity": c.kind === "waits" ? c.shade : null },
      svg("title", {}, c.title)),
    c.text ? svg("text", { x: c.x + 10, y: c.y + 14, "text-anchor": "middle", class: "heat-text" }, c.text) : null,
  ];
  const title = `Queues of ${map.level}: ${map.words}`;
  return el("figure", { class: "heat-map" },
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      svg("svg", { viewBox: `0 0 ${map.width} ${map.height}`, width: map.width, height: map.height, role: "img", "aria-label": title },
        map.cells.map(cell))),
    el("figcaption", {}, el("strong", {}, map.level), `: ${map.words} A number is waiting requests; an outline is a queue with requests that run.`));
}

function flows(page) {
  const one = (f) => row(f.flow, f.level, f.schema, f.waiting.text, f.share.text, f.longest.text, f.executing.text, f.seats.text);
  if (page.flows.length === 0) return null;
  return table("Flows with requests in a level now, measured; the share is of the waiting requests of the level",
    ["Flow", "Level", "Rule", "Waiting", "Share", "Longest wait", "Executing", "Seats"], page.flows.map(one));
}

function rejections(served) {
  const one = (r) => row(r.level, r.reason, r.total.text, r.rate.text);
  if (served.rejections.length === 0) return el("p", { class: "note" }, "No request was rejected since the API server started.");
  const advice = new Map(served.rejections.filter((r) => r.advice).map((r) => [r.reason, r.advice]));
  return [
    table(`Rejected requests since the API server started; ${served.over}`,
      ["Level", "Reason", "Rejected", "Rate"], served.rejections.map(one)),
    el("ul", {}, [...advice].map(([reason, text]) => el("li", {}, el("strong", {}, reason), `: ${text}`))),
  ];
}

function rules(served) {
  const one = (r) => row(r.schema, r.level, r.served.text, r.meanWait.text, r.rejected.text);
  return table(`Rules (FlowSchemas) through which requests came; ${served.over}`,
    ["Rule", "Level", "Served", "Mean wait", "Rejected"], served.rules.map(one));
}

const fields = [
  ["user", "User", "alice"],
  ["groups", "Groups, with commas", "system:authenticated"],
  ["verb", "Verb", "get"],
  ["resource", "Resource", "pods or pods/log"],
  ["apiGroup", "API group", "core"],
  ["namespace", "Namespace", "none"],
  ["name", "Name", "any"],
  ["path", "or path", "/healthz"],
];

// It stays as it is while the same is asked, whatever somebody types meanwhile.
function form(asked, go) {
  const inputs = fields.map(([name, , hint]) => el("input", {
    id: `request-${name}`, name, value: asked.get(name) ?? "", placeholder: hint, maxlength: 250, autocomplete: "off", spellcheck: "false",
  }));
  const made = el("form", { "data-key": asked.toString() },
    fields.map(([, label], i) => el("label", { for: inputs[i].id }, label, inputs[i])),
    el("button", { id: "request-ask", class: "button" }, "Look up"),
    el("a", { class: "button", href: "/fairness" }, "Reset"));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    for (const input of inputs) if (input.value.trim() !== "") query.set(input.name, input.value.trim());
    go(`/fairness${query.size > 0 ? `?${query}` : ""}`);
  });
  return made;
}

function answer(r) {
  const one = (t) => row(t.schema, String(t.precedence), t.level, t.matches ? el("strong", {}, "takes it") : "does not match", t.why);
  return [
    el("p", { id: "answer", role: "status" }, el("strong", {}, r.sentence)),
    r.request ? el("p", { class: "note" }, `The request: ${r.request}. Predicted from the objects in force.`) : null,
    r.also.length > 0
      ? el("p", { class: "note" }, `Would take it as well, but come later: ${r.also.join(", ")}${r.alsoLeftOut > 0 ? ` and ${r.alsoLeftOut} more` : ""}.`) : null,
    r.tried.length > 0
      ? table("Rules in the order in which they are tried", ["Rule", "Precedence", "Level", "Result", "Why"], r.tried.map(one)) : null,
    leftOut(r.triedLeftOut, "rules that were tried before"),
    r.command ? el("div", {}, el("p", {}, "The same in a terminal:"), el("pre", { tabindex: "0" }, r.command)) : null,
  ];
}
