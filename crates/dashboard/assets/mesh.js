// The pages about the mesh: its proxies, and one proxy with its destinations.

import { el, fact, findings, leftOut, number, row, section, svg, table } from "./dom.js";

export function mesh(page) {
  if (page.kind === "nothing") {
    return [el("h1", {}, "Mesh"), el("p", { class: "sentence" }, page.sentence), el("p", {}, page.advice),
      el("pre", { tabindex: "0" }, page.commands.join("\n"))];
  }
  return [
    el("h1", {}, "Mesh"),
    el("p", { class: "sentence" }, page.sentence),
    el("dl", { class: "facts" }, page.counts.map((c) =>
      fact(tag(c.state), [el("strong", {}, String(c.n)), el("span", { class: "note" }, ` ${c.meaning}`)]))),
    section("Proxies", proxies(page.proxies), leftOut(page.proxiesLeftOut, "proxies and Dataplanes")),
    section("Propagation of changes", propagation(page.propagation)),
    section("Policies in force", policies(page.policies)),
    page.policies.findings.length > 0
      ? section("Findings", findings(page.policies.findings), leftOut(page.policies.findingsLeftOut, "findings")) : null,
  ];
}

function tag(state) {
  return el("span", { class: state.severity }, el("span", { class: "tag" }, state.word));
}

function address(wish) {
  return `/mesh?${new URLSearchParams(wish)}`;
}

function proxies(list) {
  const one = (p) => row(
    p.hasPage ? el("a", { href: address({ mesh: p.mesh, dataplane: p.dataplane }) }, p.label) : p.label,
    tag(p.state), p.types[0], p.types[1], p.types[2], p.types[3], p.zone, p.protocol, p.since, p.trouble);
  return table("Proxies, those in trouble first",
    ["Dataplane", "State", "CDS", "EDS", "LDS", "RDS", "Zone", "Protocol", "Since", "Rejected"], list.map(one));
}

function propagation(p) {
  const one = (c) => row(`${c.id} ${c.what}`, c.age, c.computed, c.sent, c.acknowledged, c.by, c.rejected, c.behind);
  return [
    el("p", {}, p.sentence),
    p.figure ? drawing(p.figure) : null,
    p.rows.length > 0 ? table("The last changes; times are measured, since the change was received: of half of the proxies / of 99 %",
      ["Change", "Age", "Computed", "Sent", "Acknowledged", "By", "Rejected", "Behind"], p.rows.map(one)) : null,
    leftOut(p.rowsLeftOut, "changes"),
    p.behind.length > 0 ? el("p", {}, `Behind: ${p.behind.join("; ")}.`) : null,
    leftOut(p.behindLeftOut, "proxies that are behind are"),
  ];
}

function policies(p) {
  const one = (r) => row(r.policy, r.kind, r.from, r.to, el("ul", { class: "sets" }, r.sets.map((s) => el("li", {}, s))));
  return [
    p.note ? el("p", {}, p.note) : table("Policies: whose traffic, to where, and what they set",
      ["Policy", "Kind", "Of", "To", "Sets"], p.rows.map(one)),
    leftOut(p.rowsLeftOut, "policies"),
  ];
}

export function proxy(page) {
  const own = { mesh: page.mesh, dataplane: page.dataplane };
  return [
    el("p", {}, el("a", { href: "/mesh" }, "All proxies")),
    el("h1", {}, page.label),
    el("p", { class: "sentence" }, page.sentence),
    el("dl", { class: "facts" }, fact("Proxy", page.connected)),
    page.types.length > 0 ? section("What it has", types(page.types)) : null,
    page.notes.length > 0 ? el("ul", { class: "note" }, page.notes.map((note) => el("li", {}, note))) : null,
    section("Destinations", destinations(page, own), leftOut(page.rowsLeftOut, "destinations")),
    page.routes.length > 0 ? section("Outbound", table("Where requests to each outbound go",
      ["Address", "Requests", "Go to"], page.routes.map((r) => row(r.address, r.requests, r.to))),
    leftOut(page.routesLeftOut, "routes")) : null,
    ...page.destinations.map(destination),
    page.destinationsLeftOut > 0
      ? el("p", { class: "note" }, `Destinations not shown here: ${page.destinationsLeftOut}. The links of the table above lead to them.`)
      : null,
  ];
}

function types(list) {
  return table("Types of resources, and whether the proxy has accepted them", ["Type", "State", "Resources", "Since", "Rejected"],
    list.map((t) => row(t.name, tag(t.state), t.resources, t.since, t.trouble)));
}

function destinations(page, own) {
  const one = (d) => row(el("a", { href: address({ ...own, cluster: d.cluster }) }, d.label),
    number(d.inZone), number(d.crossZone), number(d.errors));
  return table("Destinations, and the share of requests to each", ["Destination", "In zone", "To other zones", "503"],
    page.rows.map(one));
}

function destination(d) {
  const yes = (crosses) => (crosses === null ? "unknown" : crosses ? "yes" : "no");
  return section(d.label,
    el("dl", { class: "facts" }, fact("Service", d.service), fact("Client", d.client), fact("Balancing", d.balancing),
      fact("Failover", d.failover), fact("503", number(d.errors))),
    d.policiesNote ? el("p", {}, d.policiesNote) : table("Policies in force, and what comes from each", ["Policy", "Kind", "Sets"],
      d.policies.map((p) => row(p.policy, p.kind, p.sets))),
    d.lanes ? drawing(d.lanes) : null,
    d.groups.length > 0 ? table("Priorities, localities and weights", ["Priority", "Zone", "Locality", "Weight", "Healthy", "Share", "Crosses zones"],
      d.groups.map((g) => row(String(g.priority), g.zone, g.locality, g.weight, g.healthy, number(g.share), yes(g.crosses))))
      : el("p", {}, "No endpoint."),
    leftOut(d.groupsLeftOut, "localities"),
    d.shares ? drawing(d.shares) : null,
    d.lostNote ? el("p", { class: "note" }, `With a zone lost: ${d.lostNote}.`) : null,
    d.lost.length > 0 ? table("With a zone lost", ["If lost", "Requests go to", "503"],
      d.lost.map((l) => row(l.zone, l.to, number(l.errors)))) : null,
    leftOut(d.lostLeftOut, "zones"),
    d.notes.length > 0 ? el("details", {}, el("summary", {}, "Reasons"), el("ul", {}, d.notes.map((note) => el("li", {}, note)))) : null);
}

// Shapes with their places; the server has computed both.
function drawing(d) {
  const shape = (s) => (s.kind === "rect"
    ? svg("rect", { x: s.x, y: s.y, width: s.width, height: s.height, class: s.class }, s.title ? svg("title", {}, s.title) : null)
    : svg("text", { x: s.x, y: s.y, "text-anchor": s.anchor, class: s.class }, s.text));
  return el("figure", {},
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": d.title },
      svg("svg", { viewBox: `0 0 ${d.width} ${d.height + 4}`, role: "img", "aria-label": d.title, class: "drawing" },
        d.shapes.map(shape))),
    el("figcaption", {}, `${d.title} (${d.basis}). `, d.keys.map((k) => [el("span", { class: `key ${k.class}` }, k.text), " "])));
}
