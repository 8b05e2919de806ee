// Signs in, shows the page that the address names, and shows it anew when something changed.

import { el, renew } from "./dom.js";
import { cluster } from "./cluster.js";
import { mesh, proxy } from "./mesh.js";
import { service } from "./service.js";
import { fairness } from "./fairness.js";

const main = document.getElementById("main");
const state = document.getElementById("state");
const problem = document.getElementById("problem");
let stream = null;
let wanted = 0;
let shown = "";
let allowed = true;
let followed = "";
let drawn = null;

// By path: what is asked for, which event stream tells of changes, and what is drawn. What changes all the
// time is renewed in place.
const pages = {
  "/": { source: (asked) => (asked.has("name") ? "/api/service" : "/api/cluster"), events: "cluster", draw: drawCluster },
  "/fairness": { source: (asked) => (asked.size > 0 ? "/api/fairness/match" : "/api/fairness"), events: "fairness", draw: drawFairness, renews: true },
  "/mesh": { source: (asked) => (asked.has("dataplane") ? "/api/mesh/proxy" : "/api/mesh"), events: "mesh", of: "control plane", draw: drawMesh },
};

function drawCluster(page, asked) {
  const title = asked.has("name") ? page.label : "Cluster";
  return [title, asked.has("name") ? service(page, asked, go) : cluster(page)];
}

function drawFairness(page, asked) {
  return ["Fairness", fairness(page, asked, go)];
}

function drawMesh(page, asked) {
  return asked.has("dataplane") ? [page.label, proxy(page)] : ["Mesh", mesh(page)];
}

function here() {
  return pages[location.pathname] ?? pages["/"];
}

// The token is in the fragment, which is not sent; it does not stay in the address.
async function signIn() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  history.replaceState(null, "", location.pathname + location.search);
  await fetch("/api/login", { method: "POST", body: token });
}

function tell(text) {
  problem.textContent = text ?? "";
  problem.hidden = !text;
}

async function show(moved = false) {
  const turn = ++wanted;
  const asked = new URLSearchParams(location.search);
  const page = here();
  const path = `${page.source(asked)}${location.search}`;
  let answer;
  try {
    answer = await fetch(path);
  } catch {
    return;
  }
  const text = await answer.text();
  // A later request has its own answer.
  if (turn !== wanted) return;
  allowed = answer.status !== 401;
  if (!answer.ok) {
    if (answer.status !== 503) {
      shown = "";
      main.replaceChildren(el("p", { class: "sentence" }, text.trim()));
    }
    return;
  }
  const key = path + text;
  if (key === shown) return;
  shown = key;
  draw(...page.draw(JSON.parse(text), asked, go), moved);
}

function draw(title, parts, moved) {
  const active = document.activeElement?.id;
  const typing = document.activeElement?.tagName === "INPUT" ? document.activeElement.value : null;
  const fresh = main.cloneNode();
  fresh.append(...parts.filter((part) => part !== null));
  if (here().renews && drawn === here()) renew(main, fresh);
  else main.replaceChildren(...fresh.childNodes);
  drawn = here();
  document.title = `${title} – Evenkeel`;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const again = active && active !== "main" ? document.getElementById(active) : null;
  if (again && main.contains(again)) {
    if (typing !== null) again.value = typing;
    again.focus();
  } else if (moved) {
    main.focus();
    scrollTo(0, 0);
  }
  performance.mark("drawn");
  main.dataset.drawn = String(Number(main.dataset.drawn ?? "0") + 1);
}

function go(address, moved = false) {
  history.pushState(null, "", address);
  turnTo(moved);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go(link.getAttribute("href"), !link.classList.contains("button"));
});
addEventListener("popstate", () => turnTo(true));

// Another kind of page has another stream.
function turnTo(moved) {
  if (followed !== here().events && allowed) {
    stream?.close();
    stream = null;
    follow();
  }
  show(moved);
}

// One stream for each tab that is seen.
function follow() {
  if (document.hidden) {
    stream?.close();
    stream = null;
    state.textContent = "Paused";
    return;
  }
  if (stream) return;
  followed = here().events;
  stream = new EventSource(`/api/events?page=${followed}`);
  stream.onmessage = (event) => {
    const news = JSON.parse(event.data);
    const of = here().of ?? "cluster";
    state.textContent = news.generation === 0 ? `Reading the ${of}` : "Live";
    tell(news.problem ? `The last read of the ${of} failed: ${news.problem}. What is shown is from before.` : null);
    show();
  };
  stream.onerror = () => {
    state.textContent = "Disconnected";
    // The browser tries again by itself, but not after a refusal.
    if (stream?.readyState === EventSource.CLOSED) {
      stream = null;
      setTimeout(follow, 5000);
    }
  };
}

await signIn();
document.addEventListener("visibilitychange", follow);
await show();
if (allowed) follow();
else state.textContent = "Not signed in";
