// The console's page: which page is shown for which address, and what all pages share.

import { openSession, takeSecret } from "./api.js";
import { h, patch } from "./dom.js";
import { Refresher } from "./refresh.js";
import { listen, showHelp } from "./shortcuts.js";
import { keepTime } from "./times.js";
import { View } from "./view.js";
import { audit } from "./pages/audit.js";
import { control, haltBanner } from "./pages/control.js";
import { deadLetters } from "./pages/dead_letters.js";
import { group, groups } from "./pages/groups.js";
import { job } from "./pages/job.js";
import { jobs } from "./pages/jobs.js";
import { overview } from "./pages/overview.js";
import { schedule, schedules } from "./pages/schedules.js";
import { template, templates } from "./pages/templates.js";

const PAGES = [
  { name: "overview", label: "Overview", key: "o", page: overview },
  { name: "jobs", label: "Jobs", key: "j", page: jobs, one: job },
  { name: "dead-letters", label: "Dead letters", key: "d", page: deadLetters },
  { name: "schedules", label: "Schedules", key: "s", page: schedules, one: schedule },
  { name: "templates", label: "Templates", key: "t", page: templates, one: template },
  { name: "groups", label: "Groups", key: "u", page: groups, one: group },
  { name: "control", label: "Control", key: "c", page: control },
  { name: "audit", label: "Audit", key: "a", page: audit },
];
const HALT_KEPT_MILLIS = 10_000;
const at = (id) => document.getElementById(id);

let view = null;
let session = null;
let quietly = 0;
let haltSeenAt = 0;

const refresher = new Refresher({
  button: at("pause-refresh"),
  updated: at("updated"),
  update: () => Promise.all([view?.update(), Date.now() - haltSeenAt > HALT_KEPT_MILLIS ? showHalt() : null]),
  every: () => view?.page.every,
});

// For those who see and those who listen. What was done stays to be read; what passes is only spoken.
function say(text, isDone = false) {
  const said = h("p", { class: isDone ? "toast" : "unseen" }, text);
  at("said").replaceChildren(said);
  clearTimeout(quietly);
  quietly = setTimeout(() => said.remove(), isDone ? 8000 : 2000);
}

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id, ...more] = path.split("/").map(decoded);
  const found = PAGES.find((each) => each.name === (name || "overview"));
  const page = more.length ? null : id ? found?.one : found?.page;
  return { found, page: page ?? unknown, params: id ? { id } : {}, query: query ?? "" };
}

const unknown = {
  name: "unknown",
  every: 3600,
  title: () => "There is no such page",
  load: async () => ({}),
  render: () => [h("p", null, "Nothing is at ", h("code", null, decoded(location.hash)), ". An address may be cut off, or mistyped."),
    h("p", null, h("a", { href: "#/overview" }, "Go to the overview"))],
};

// An address that somebody typed may be anything.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function navigate(isFirst = false) {
  const { found, page, params, query } = route();
  view?.leave();
  refresher.stop();
  view = new View(page, { params, query, main: at("main"), say, seen: (isGood) => refresher.seen(isGood), changed: showHalt });
  view.session = session;
  patch(at("pages"), PAGES.map(({ name, label }) => h("li", { "data-key": name },
    h("a", { href: `#/${name}`, "aria-current": name === found?.name ? "page" : null }, label))));
  at("pages").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const shown = view.show();
  // Whoever listens hears where they are now; the first page is left to the browser's own start.
  if (!isFirst) view.heading.focus();
  await Promise.all([shown, showHalt()]);
}

async function showHalt() {
  haltSeenAt = Date.now();
  try {
    patch(at("halted"), await haltBanner());
  } catch {
    // The page itself says that something is wrong.
  }
}

async function start() {
  takeSecret();
  at("help").onclick = () => showHelp(PAGES);
  at("refresh-now").onclick = () => refresher.update();
  at("skip").onclick = (event) => {
    event.preventDefault();
    at("main").focus();
  };
  listen(PAGES, { refresh: () => refresher.update(), pause: () => refresher.pause(!refresher.isPaused) });
  keepTime();
  window.addEventListener("resize", () => view?.data && view.draw());
  // Who opens the printed address again, in this tab, only changes what is behind the #.
  window.addEventListener("hashchange", () => (takeSecret() ? location.reload() : navigate()));
  try {
    session = await openSession();
  } catch (problem) {
    at("main").replaceChildren(h("p", { class: "error banner", role: "alert" }, problem.message));
    return;
  }
  at("stage").textContent = session.name;
  at("actor").textContent = session.actor ? `You act as ${session.actor}` : (session.actor_error ?? "");
  await navigate(true);
}

start();
