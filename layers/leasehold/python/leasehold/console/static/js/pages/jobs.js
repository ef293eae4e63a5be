// Jobs with a filter that takes effect at once.

import { button } from "../actions.js";
import { h } from "../dom.js";
import { jobLink, to } from "../links.js";
import { clip, further, table } from "../tables.js";
import { when } from "../times.js";
import { badge, errorText, PRIORITIES, STATUSES } from "../words.js";
import { bulkCancel } from "./bulk.js";
import { typeNames } from "./control.js";
import { enqueue } from "./enqueue.js";
import { asked, filtered } from "./filters.js";

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const jobs = {
  name: "jobs",
  title: () => "Jobs",

  controls: (view) => h("div", { class: "choices start" },
    button("Enqueue a job…", () => enqueue(view)),
    button("Cancel all that match…", () => bulkCancel(view, asked(view)), { danger: true })),

  async load(view, signal) {
    const isNew = !view.state.form;
    const found = await filtered(view, signal, { path: "/api/jobs", label: "Filter jobs", fields: () => filters(view) });
    if (isNew) view.state.form.before(jump());
    return found;
  },

  render: (view) => [
    table({
      caption: "Jobs", items: view.data.items, key: (job) => job.job_id, columns: jobColumns(view.state.types),
      empty: view.data.cursor ? "Nothing found yet." : view.query ? "No job matches this filter." : "There are no jobs yet.",
    }),
    further(view.data, view),
  ],

  summary: (view) => view.data.summary("job"),
};

// types: those that are deployed, where they are known.
export function jobColumns(types) {
  const isGone = (job) => types && !types.includes(job.job_type) && !job.ended_at;
  return [
    ["Job", (job) => jobLink(job.job_id)],
    ["Type", (job) => [clip(job.job_type), isGone(job) ? [" ", badge("not_deployed")] : null]],
    ["Status", (job) => badge(job.status)],
    ["Scheduled", (job) => when(job.scheduled_for)],
    ["Next or end", (job) => when(job.ended_at ?? job.due_at)],
    ["Attempts", (job) => `${job.attempts} of ${job.max_attempts}`, { class: "number" }],
    ["Priority", (job) => PRIORITIES[job.priority] ?? job.priority],
    ["Belongs to", (job) => belongs(job)],
    ["Note", (job) => note(job), { class: "wide" }],
  ];
}

function belongs(job) {
  const [page, name] = job.group_id ? ["groups", job.group_id] : ["schedules", job.schedule];
  if (name) return h("a", { href: to(page, name), class: "clip", title: name }, name);
  return clip(job.dedup_key ?? job.concurrency_key);
}

// Why it is where it is.
function note(job) {
  return clip(job.error ? errorText(job.error, job.error_code) : (job.cancel_reason ?? (job.held_by ? `held by ${job.held_by}` : "")));
}

async function filters(view) {
  view.state.types = await typeNames({ isAll: true });
  return [
    { name: "job_type", label: "Type", type: "select", options: view.state.types },
    { name: "status", label: "Status", type: "checks", options: Object.entries(STATUSES).map(([name, [text]]) => [name, text]) },
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
  ];
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
