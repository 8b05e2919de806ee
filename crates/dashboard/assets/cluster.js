// The page about the whole cluster.

import { amount, bar, el, fact, findings, leftOut, number, row, section, table } from "./dom.js";
import { figure } from "./figure.js";

export function serviceLink(namespace, name, label) {
  return el("a", { href: `/?${new URLSearchParams({ namespace, name })}` }, label);
}

export function cluster(page) {
  return [
    el("h1", {}, "Cluster"),
    el("p", { class: "sentence" }, page.sentence),
    el("dl", { class: "facts" },
      fact("Stays in its zone", [number(page.inZone), shares(page.inZone)]),
      fact("Stays in its zone, counted by proxies", el("span", {}, number(page.measured), ` ${page.measuredNote}`)),
      fact("Services that need attention", el("span", { class: "number" }, String(page.troubled), el("span", { class: "basis" }, ` of ${page.all}`))),
      fact("Busiest endpoint, of its fair share", page.worst ? worst(page.worst) : number({ text: "unknown", basis: "unknown" }))),
    section("Traffic between zones", figure(page.figure, true), el("p", { class: "note" }, page.figureNote)),
    section("Services", services(page), leftOut(page.servicesLeftOut, "Services")),
    section("Zones", el("div", { class: "zones" }, page.zones.map(zone)), leftOut(page.zonesLeftOut, "zones")),
    page.findings.length > 0
      ? section("Nodes and zones", findings(page.findings), leftOut(page.findingsLeftOut, "findings")) : null,
  ];
}

// What stays and what crosses, where both are known.
function shares(n) {
  return n.value === null ? null : bar([n.value * 100, "near"], [100 - n.value * 100, "cross"]);
}

function worst(w) {
  return [number(w.load), `${w.endpoint} of `, serviceLink(w.namespace, w.service, w.label)];
}

function services(page) {
  const trouble = (s) => (s.trouble
    ? el("span", { class: s.trouble.severity }, el("span", { class: "tag" }, s.trouble.severity),
      ` ${s.trouble.message}${s.more > 0 ? ` (and ${s.more} more)` : ""}`)
    : "");
  const one = (s) => row(
    serviceLink(s.namespace, s.service, s.label),
    s.policy,
    amount(String(s.ready)),
    amount(s.inZone.text, shares(s.inZone)),
    amount(s.load.text),
    trouble(s));
  return table("Services, those in trouble first; figures are predicted",
    ["Service", "Policy", "Ready", "In zone", "Worst load", "Trouble"], page.services.map(one));
}

function zone(z) {
  const node = (n) => el("li", { class: n.state.replace(" ", "-") }, n.name,
    el("span", { class: "note" }, ` ${n.cpu}${n.state === "ready" ? "" : `, ${n.state}`}`));
  return el("article", {},
    el("h3", {}, z.label),
    el("p", {}, `${z.cpu}, `, z.part.value === null ? "part of the cluster unknown" : `${z.part.text} of the cluster`),
    bar([z.bar, "load"]),
    el("p", { class: "note" }, `Ready workers: ${z.ready}, nodes: ${z.nodes}`),
    el("ul", { class: "nodes" }, z.shown.map(node)), leftOut(z.leftOut, "nodes"));
}
