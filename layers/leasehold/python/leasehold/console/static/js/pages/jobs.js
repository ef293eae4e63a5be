// Jobs with a filter that takes effect at once.

import { get } from "../api.js";
import { button } from "../actions.js";
import { h, patch } from "../dom.js";
import { jobLink, link } from "../links.js";
import { further, Listing, table } from "../tables.js";
import { when } from "../times.js";
import { badge, PRIORITIES, STATUSES } from "../words.js";
import { enqueue } from "./enqueue.js";
import { asked, filterForm } from "./filters.js";

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const jobs = {
  name: "jobs",
  title: () => "Jobs",

  controls: (view) => button("Enqueue a job…", () => enqueue(view)),

  async load(view, signal) {
    if (!view.state.form) await prepare(view, signal);
    if (view.state.asked !== view.query) {
      view.state.asked = view.query;
      view.state.listing = new Listing("/api/jobs", asked(view));
    }
    await view.state.listing.load(signal);
    return view.state.listing;
  },

  render: (view) => [
    table({
      caption: "Jobs", items: view.data.items, key: (job) => job.job_id, columns: JOB_COLUMNS,
      empty: view.data.cursor ? "Nothing found yet." : view.query ? "No job matches this filter." : "There are no jobs yet.",
    }),
    further(view.data, view),
  ],

  told: (view) => view.data.told("job"),
};

export const JOB_COLUMNS = [
  ["Job", (job) => jobLink(job.job_id)],
  ["Type", (job) => job.job_type],
  ["Status", (job) => badge(job.status)],
  ["Scheduled", (job) => when(job.scheduled_for)],
  ["Next or end", (job) => when(job.ended_at ?? job.due_at)],
  ["Attempts", (job) => `${job.attempts} of ${job.max_attempts}`, { class: "number" }],
  ["Priority", (job) => PRIORITIES[job.priority] ?? job.priority],
  ["Belongs to", (job) => belongs(job)],
  ["Note", (job) => note(job), { class: "wide" }],
];

function belongs(job) {
  if (job.group_id) return link(job.group_id, "groups", job.group_id);
  if (job.schedule) return link(job.schedule, "schedules", job.schedule);
  return job.dedup_key ?? job.concurrency_key ?? "";
}

// Why it is where it is.
function note(job) {
  const text = job.error ?? job.cancel_reason ?? (job.held_by ? `held by ${job.held_by}` : "");
  return text ? h("span", { class: "clip", title: text }, text) : "";
}

async function prepare(view, signal) {
  const { types } = await get("/api/control", null, signal);
  view.state.types = Object.keys(types);
  view.state.form = filterForm(view, "Filter jobs", [
    { name: "job_type", label: "Type", type: "select", options: view.state.types },
    { name: "status", label: "Status", type: "checks", options: Object.entries(STATUSES).map(([name, [word]]) => [name, word]) },
    { name: "scheduled_from", label: "Scheduled from", type: "time" },
    { name: "scheduled_to", label: "Scheduled before", type: "time" },
    { name: "dedup_key", label: "Dedup key", type: "text" },
    { name: "created_from", label: "Created from", type: "time", isMore: true },
    { name: "created_to", label: "Created before", type: "time", isMore: true },
    { name: "concurrency_key", label: "Concurrency key", type: "text", isMore: true },
    { name: "group_id", label: "Group", type: "text", isMore: true },
    { name: "schedule", label: "Schedule", type: "text", isMore: true },
    { name: "template", label: "Template", type: "text", isMore: true },
    { name: "ended_from", label: "Ended from", type: "time", isMore: true },
    { name: "ended_to", label: "Ended before", type: "time", isMore: true },
  ]);
  patch(view.body, []);
  view.body.before(jump(), view.state.form);
}

// Straight to a job whose id is known.
function jump() {
  return h("form", { class: "jump", "aria-label": "Open a job", onsubmit: opened },
    h("label", { for: "job-id" }, "Job id"),
    h("input", { id: "job-id", name: "id", type: "text", spellcheck: "false", autocomplete: "off", placeholder: "paste it here" }),
    h("button", { type: "submit" }, "Open"));
}

function opened(event) {
  event.preventDefault();
  const field = event.target.elements.id;
  const id = field.value.trim();
  field.setCustomValidity(ID.test(id) ? "" : "A job's id looks like 01a1de8a-c9c0-8000-9c5f-3a5d8a1b2c3d.");
  if (field.reportValidity()) location.hash = `#/jobs/${encodeURIComponent(id)}`;
  field.oninput = () => field.setCustomValidity("");
}
