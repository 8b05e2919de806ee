// The page about the whole cluster.

import { el, fact, findings, leftOut, number, row, section, svg, table } from "./dom.js";
import { figure } from "./figure.js";

export function serviceLink(namespace, name, label) {
  return el("a", { href: `/?${new URLSearchParams({ namespace, name })}` }, label);
}

export function cluster(page) {
  const worst = page.worst
    ? [number(page.worst.load), " at ", page.worst.endpoint, " of ",
      serviceLink(page.worst.namespace, page.worst.service, `${page.worst.namespace}/${page.worst.service}`)]
    : "unknown";
  return [
    el("h1", {}, "Cluster"),
    el("p", { class: "sentence" }, page.sentence),
    el("dl", { class: "facts" },
      fact("Stays in its zone", number(page.inZone)),
      fact("Stays in its zone, counted by proxies", el("span", {}, number(page.measured), ` ${page.measuredNote}`)),
      fact("Busiest endpoint, of its fair share", el("span", {}, worst))),
    section("Traffic between zones", figure(page.figure), el("p", { class: "note" }, page.figureNote)),
    section("Services", services(page), leftOut(page.servicesLeftOut, "Services")),
    section("Zones", el("div", { class: "zones" }, page.zones.map(zone)), leftOut(page.zonesLeftOut, "zones")),
    page.findings.length > 0
      ? section("Nodes and zones", findings(page.findings), leftOut(page.findingsLeftOut, "findings")) : null,
  ];
}

function services(page) {
  const one = (s) => row(
    serviceLink(s.namespace, s.service, s.label),
    s.policy,
    String(s.ready),
    s.inZone.text,
    s.load.text,
    s.trouble
      ? el("span", { class: s.trouble.severity }, el("span", { class: "tag" }, s.trouble.severity),
        ` ${s.trouble.message}${s.more > 0 ? ` (and ${s.more} more)` : ""}`)
      : "");
  return table("Services, those in trouble first; figures are predicted",
    ["Service", "Policy", "Ready", "In zone", "Worst load", "Trouble"], page.services.map(one));
}

function zone(z) {
  const bar = svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" },
    svg("rect", { width: 100, height: 6, class: "track" }),
    svg("rect", { width: z.bar, height: 6, class: "near" }));
  const node = (n) => el("li", { class: n.state.replace(" ", "-") }, n.name,
    el("span", { class: "note" }, ` ${n.cpu}, ${n.state}`));
  return el("article", {},
    el("h3", {}, z.label),
    el("p", {}, `${z.cpu}, `, z.part.value === null ? "part of the cluster unknown" : `${z.part.text} of the cluster`),
    bar,
    el("p", { class: "note" }, `${z.ready} ready workers of ${z.nodes} nodes`),
    el("ul", { class: "nodes" }, z.shown.map(node)), leftOut(z.leftOut, "nodes"));
}
