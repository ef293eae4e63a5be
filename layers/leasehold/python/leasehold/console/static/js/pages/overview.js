// How things stand: what waits, what runs, how the last hour went.

import { get } from "../api.js";
import { bars, barsOverTime } from "../charts.js";
import { h } from "../dom.js";
import { jobsLink, link } from "../links.js";
import { notDeployed } from "./control.js";
import { duration, when } from "../times.js";
import { count, many, STATUSES } from "../words.js";

const OUTCOMES = ["completed", "cancelled", "dead_letter"].map((name) => ({ name, label: STATUSES[name][0] }));

export const overview = {
  name: "overview",
  every: 10,
  title: () => "Overview",

  async load(_, signal) {
    const [counts, hour, backlog, found] = await Promise.all(
      ["/api/counts", "/api/last-hour", "/api/backlog", "/api/control"].map((path) => get(path, null, signal)));
    return { counts, hour, backlog, gone: notDeployed(found, counts) };
  },

  render: ({ data: { counts, hour, backlog, gone }, body }) => [
    gone.length ? h("p", { class: "error banner" }, "Jobs wait whose type is not deployed: ", gone.map(({ name, waiting }, index) =>
      [index ? ", " : null, jobsLink(name, { job_type: name }), ` (${waiting})`]), ". Deploy it again, or cancel them.") : null,
    tiles(counts, backlog),
    h("div", { class: "charts" },
      hour.minutes ? [ended(hour, body.clientWidth), depth(backlog), lateness(hour), outcomes(hour)] : [noIndex(), depth(backlog)]),
  ],
};

function tiles({ statuses, dead_letters: open }, backlog) {
  const due = Object.values(backlog.types).reduce((sum, { depth: each }) => sum + each, 0);
  const oldest = Object.values(backlog.types).map((each) => each.oldest_due_at).filter(Boolean).sort()[0];
  return h("ul", { class: "tiles" },
    tile("Due now", due.toLocaleString("en"), oldest ? ["the oldest since ", when(oldest)] : "nothing waits", jobsLink("Waiting jobs", { status: ["pending", "failed"] })),
    tile("Running", count(statuses.in_progress.total), "under a lease", jobsLink("Running jobs", { status: "in_progress" })),
    tile("Pending", count(statuses.pending.total), "due now or later", jobsLink("Pending jobs", { status: "pending" })),
    tile("Will retry", count(statuses.failed.total), "after a failed run", jobsLink("Jobs that will be retried", { status: "failed" })),
    tile("Dead letters", count(open), open.value ? "need somebody" : "none is open", link("Dead letters", "dead-letters"), open.value ? "bad" : null));
}

function tile(label, value, hint, go, tone) {
  return h("li", { class: `tile ${tone ?? ""}` },
    h("p", { class: "tile-label" }, label), h("p", { class: "tile-value" }, value),
    h("p", { class: "quiet" }, hint), h("p", { class: "tile-go" }, go));
}

function ended({ minutes }, space) {
  const sums = OUTCOMES.map(({ name, label }) => [label, minutes.reduce((sum, { ended: each }) => sum + (each[name] ?? 0), 0)]);
  const all = sums.reduce((sum, [, each]) => sum + each, 0);
  return barsOverTime({
    title: "Jobs ended per minute",
    summary: all ? `${many(all, "job")} in the last hour: ${sums.map(([label, each]) => `${each} ${label.toLowerCase()}`).join(", ")}.` : "No job ended in the last hour.",
    series: OUTCOMES,
    space,
    points: minutes.map(({ at, ended: values }) => ({ at, values })),
    label: (at) => new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }),
  });
}

function depth({ types }) {
  const waiting = Object.entries(types).filter(([, each]) => each.depth).sort(([, one], [, other]) => other.depth - one.depth);
  if (!waiting.length) return nothing("Due and not started", "Nothing waits for a handler.");
  return bars({
    title: "Due and not started",
    summary: `${many(waiting.length, "type")} with due jobs.`,
    heading: ["Type", "Jobs"],
    bars: waiting.slice(0, 10).map(([label, each]) => ({ label, value: each.depth, text: each.depth.toLocaleString("en"), tone: "pending" })),
  });
}

function lateness({ lateness: late }) {
  if (!late) return nothing("Lateness", "Of no job that ended in the last hour it is known how late it started.");
  return bars({
    title: "Lateness",
    summary: `From the time a job was meant for to its first start; the last ${many(late.sample, "job")}.`,
    heading: ["Measure", "Late by"],
    bars: [["Median", late.median], ["95th percentile", late.p95], ["Longest", late.longest]].map(([label, value]) =>
      ({ label, value, text: duration(value), tone: "in_progress" })),
  });
}

function outcomes({ types }) {
  const rows = Object.entries(types);
  if (!rows.length) return nothing("Outcomes by type", "No job ended in the last hour.");
  return h("section", { class: "chart" }, h("h2", null, "Outcomes by type"),
    h("table", null, h("caption", { class: "unseen" }, "Jobs that ended in the last hour, by type"),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Type"), OUTCOMES.map(({ label }) => h("th", { scope: "col", class: "number" }, label)))),
      h("tbody", null, rows.map(([type, ends]) => h("tr", { "data-key": type },
        h("th", { scope: "row" }, jobsLink(type, { job_type: type })),
        OUTCOMES.map(({ name }) => h("td", { class: "number" }, (ends[name] ?? 0).toLocaleString("en"))))))));
}

function nothing(title, text) {
  return h("section", { class: "chart" }, h("h2", null, title), h("p", { class: "empty" }, text));
}

function noIndex() {
  return nothing("The last hour", "This deployment has no ended index, which these charts are made from.");
}
