// What can be done, each with its question first. `view` shows the result.

import { post } from "./api.js";
import { ask, REASON } from "./dialogs.js";
import { h } from "./dom.js";
import { PayloadField } from "./payload_field.js";
import { PRIORITIES, sentence } from "./words.js";

export function button(text, onclick, { danger = false, label } = {}) {
  return h("button", { type: "button", class: danger ? "danger" : null, "aria-label": label, onclick }, text);
}

// Ask for a reason, send, and show how things stand; `done` says it in words.
export async function act(view, { path, method, title, text, confirm, done, danger, fields = [], watch, body = (values) => values, then }) {
  const result = await ask({
    title, text, confirm, danger, watch,
    fields: [...fields, REASON],
    run: (values) => post(path, body(values), method),
  });
  if (result === null) return;
  await view.done(typeof done === "function" ? done(result) : done);
  then?.(result);
}

const jobPath = (id, action) => `/api/jobs/${encodeURIComponent(id)}/${action}`;
const deadLetterPath = (id, action) => `/api/dead-letters/${encodeURIComponent(id)}/${action}`;
const open = (result) => {
  location.hash = `#/jobs/${encodeURIComponent(result.job_id)}`;
};

export const PRIORITY_OPTIONS = PRIORITIES.map((name, level) => [String(level), sentence(name)]);

export const cancel = (view, job) => act(view, {
  path: jobPath(job.job_id, "cancel"), title: "Cancel this job?", confirm: "Cancel the job", danger: true,
  text: job.status === "in_progress" && job.started_at ? "It runs: it is asked to stop, and is not tried again." : "It will not run.",
  done: (result) => (result.job_ended === false ? "The job was asked to stop." : "The job is cancelled."),
});

export const runNow = (view, job) => act(view, {
  path: jobPath(job.job_id, "run-now"), title: "Run this job now?", confirm: "Run it now",
  text: "It is due at once, and starts when its turn comes.", done: "The job is due now.",
});

export const retry = (view, job) => act(view, {
  path: jobPath(job.job_id, "retry"), title: "Run this job again?", confirm: "Run it again",
  text: "A new job does the same work; this one stays as it is.", done: "A new job was made.", then: open,
});

export const reprioritise = (view, job) => act(view, {
  path: jobPath(job.job_id, "priority"), title: "Change the priority?", confirm: "Change it",
  fields: [{ name: "priority", label: "Priority", type: "select", required: true, value: String(job.priority), options: PRIORITY_OPTIONS }],
  body: (values) => ({ ...values, priority: Number(values.priority) }), done: "The priority was changed.",
});

export const purge = (view, job) => act(view, {
  path: jobPath(job.job_id, "purge"), title: "Forget what is in this job?", confirm: "Forget it for good", danger: true,
  text: "Payload, result, errors and artifacts are removed for good, here and from its dead letter. That it was done stays on record.",
  done: "The job's contents are forgotten.",
});

export const redrive = (view, deadLetter) => act(view, {
  path: deadLetterPath(deadLetter.id, "redrive"), title: "Redrive this dead letter?", confirm: "Redrive it",
  text: "A new job does its work again, and the dead letter is resolved.", done: "The dead letter was redriven as a new job.",
});

export const editAndRedrive = (view, deadLetter) => act(view, {
  path: deadLetterPath(deadLetter.id, "redrive"), title: "Edit the payload and redrive?", confirm: "Redrive it so",
  text: "A new job runs with the payload below, and the dead letter is resolved. What you changed is recorded, without its values.",
  fields: [{ name: "payload", field: new PayloadField({ value: deadLetter.payload, type: deadLetter.job_type }) }],
  done: "The dead letter was redriven as a new job, with the new payload.", then: open,
});

export const discard = (view, deadLetter) => act(view, {
  path: deadLetterPath(deadLetter.id, "discard"), title: "Discard this dead letter?", confirm: "Discard it", danger: true,
  text: "It is resolved without being run again.", done: "The dead letter was discarded.",
});
