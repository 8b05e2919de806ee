// The page about one Service, with its what-if. What is asked is in the page's address.

import { el, fact, findings, leftOut, number, row, section, svg, table } from "./dom.js";
import { figure } from "./figure.js";

// `go` shows another address.
export function service(page, asked, go) {
  const busiest = page.busiest ? [" at ", page.busiest] : [];
  return [
    el("h1", {}, page.label),
    el("p", { class: "sentence" }, page.sentence),
    el("dl", { class: "facts" },
      fact("Policy", `${page.policy} (${page.because})`),
      fact("Stays in its zone", number(page.inZone)),
      fact("Crosses zones", number(page.crossZone)),
      fact("Finds no endpoint", number(page.unserved)),
      fact("Busiest endpoint, of its fair share", el("span", {}, number(page.load), busiest)),
      fact("Stays in its zone, counted by proxies", el("span", {}, number(page.measured), ` ${page.measuredNote}`)),
      fact("In force on nodes", page.inForce)),
    section("Where traffic goes", figure(page.figure), flows(page), leftOut(page.rowsLeftOut, "rows")),
    section("What if", whatIf(page, asked, go)),
    section("Hints", hints(page.families)),
    page.findings.length > 0 ? section("Findings", findings(page.findings)) : null,
    section("Conditions", el("ul", { class: "conditions" },
      page.conditions.map((c) => el("li", { class: c.state },
        el("span", { class: "tag" }, words[c.state]), ` ${c.text}`))),
      el("p", {}, `Advice: ${page.advice}.`)),
  ];
}

const words = {
  ok: "ok", failed: "failed", unknown: "unknown", notApplicable: "does not apply", warning: "warning",
};

function flows(page) {
  const crosses = (r) => (r.crosses === null ? "unknown" : r.crosses ? "yes" : "no");
  return table("Where the clients of each zone send their traffic", ["From", "Sends", "To", "Share", "Counted", "Crosses zones", "Why"],
    page.rows.map((r) => row(r.from, number(r.part), r.to, number(r.share), number(r.measured), crosses(r), r.why)));
}

function hints(families) {
  const one = (f) => row(f.family, `${f.ready} of ${f.endpoints}`, f.inForce, f.desired,
    f.differences === 0 ? "none" : String(f.differences), f.shares.join("; "));
  return table("Hints in force and desired",
    ["Family", "Ready", "In force", "Desired", "Differences", "Zone shares"], families.map(one));
}

function whatIf(page, asked, go) {
  const w = page.whatIf;
  const policy = el("select", { id: "policy", name: "policy" },
    el("option", { value: "" }, "as it is"),
    w.policies.filter((p) => !p.isCurrent).map((p) => el("option", {
      value: p.policy, selected: asked.get("policy") === p.policy,
    }, p.limit ? `${p.policy} (limited)` : p.policy)));
  const replicas = el("input", {
    id: "replicas", name: "replicas", type: "number", min: "0", max: "10000", inputmode: "numeric",
    value: asked.get("replicas") ?? "", placeholder: String(w.endpoints),
  });
  const lose = el("select", { id: "lose", name: "lose" },
    el("option", { value: "" }, "none"),
    w.zones.map((z) => el("option", { value: z, selected: asked.get("lose") === z }, z)));
  const form = el("form", {},
    el("label", { for: "policy" }, "Policy", policy),
    el("label", { for: "replicas" }, "Replicas", replicas),
    el("label", { for: "lose" }, "Lose a zone", lose),
    el("a", { class: "button", href: `/?${address(page, {})}` }, "Reset"));
  const ask = () => go(`/?${address(page, { policy: policy.value, replicas: replicas.value, lose: lose.value })}`);
  form.addEventListener("change", () => { if (form.checkValidity()) ask(); });
  form.addEventListener("submit", (event) => { event.preventDefault(); if (form.checkValidity()) ask(); });
  return [
    form,
    el("div", { class: "compare" }, outcome(w.now), w.then ? outcome(w.then) : null),
    w.notes.length > 0 ? el("ul", { class: "note" }, w.notes.map((note) => el("li", {}, note))) : null,
    w.command ? el("div", {}, el("p", {}, "To set the policy:"), el("pre", { tabindex: "0" }, w.command)) : null,
    el("p", { class: "note" }, `Recommended: ${w.recommended} – ${w.recommendedBecause}.`),
  ];
}

function address(page, wish) {
  const query = new URLSearchParams({ namespace: page.namespace, name: page.service });
  for (const [key, value] of Object.entries(wish)) if (value !== "") query.set(key, value);
  return query;
}

function outcome(o) {
  const bar = (b) => el("div", { class: "measure" },
    el("p", {}, `${b.label} `, el("strong", {}, b.text)),
    svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "bar", "aria-hidden": "true" },
      svg("rect", { width: 100, height: 6, class: "track" }),
      svg("rect", { width: b.length, height: 6, class: b.kind })));
  return el("article", {}, el("h3", {}, o.label), el("p", { class: "basis" }, o.basis), o.figure ? figure(o.figure) : null, o.bars.map(bar));
}
