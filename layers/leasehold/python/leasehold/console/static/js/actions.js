// What can be done, each with its question first. `view` shows the result.

import { post } from "./api.js";
import { ask, REASON } from "./dialogs.js";
import { h } from "./dom.js";
import { PRIORITIES, sentence } from "./words.js";

export function button(text, onclick, { danger = false, label } = {}) {
  return h("button", { type: "button", class: danger ? "danger" : null, "aria-label": label, onclick }, text);
}

// Ask for a reason, post, and show how things stand; `told` says it in words.
export async function act(view, { path, title, text, confirm, told, danger, fields = [], body = (values) => values, then }) {
  const result = await ask({
    title, text, confirm, danger,
    fields: [...fields, REASON],
    run: (values) => post(path, body(values)),
  });
  if (result === null) return;
  await view.done(typeof told === "function" ? told(result) : told);
  then?.(result);
}

const jobPath = (id, action) => `/api/jobs/${encodeURIComponent(id)}/${action}`;
const letterPath = (id, action) => `/api/dead-letters/${encodeURIComponent(id)}/${action}`;
const open = (result) => {
  location.hash = `#/jobs/${encodeURIComponent(result.job_id)}`;
};

export const cancel = (view, job) => act(view, {
  path: jobPath(job.job_id, "cancel"), title: "Cancel this job?", confirm: "Cancel the job", danger: true,
  text: job.status === "in_progress" && job.started_at ? "It runs: it is asked to stop, and is not tried again." : "It will not run.",
  told: (result) => (result.job_ended === false ? "The job was asked to stop." : "The job is cancelled."),
});

export const runNow = (view, job) => act(view, {
  path: jobPath(job.job_id, "run-now"), title: "Run this job now?", confirm: "Run it now",
  text: "It is due at once, and starts when its turn comes.", told: "The job is due now.",
});

export const retry = (view, job) => act(view, {
  path: jobPath(job.job_id, "retry"), title: "Run this job again?", confirm: "Run it again",
  text: "A new job does the same work; this one stays as it is.", told: "A new job was made.", then: open,
});

export const reprioritise = (view, job) => act(view, {
  path: jobPath(job.job_id, "priority"), title: "Change the priority?", confirm: "Change it",
  fields: [{ name: "priority", label: "Priority", type: "select", required: true, value: String(job.priority),
    options: PRIORITIES.map((name, level) => [String(level), sentence(name)]) }],
  body: (values) => ({ ...values, priority: Number(values.priority) }), told: "The priority was changed.",
});

export const purge = (view, job) => act(view, {
  path: jobPath(job.job_id, "purge"), title: "Forget what is in this job?", confirm: "Forget it for good", danger: true,
  text: "Payload, result, errors and artifacts are removed for good, here and from its dead letter. That it was done stays on record.",
  told: "The job's contents are forgotten.",
});

export const redrive = (view, letter, then) => act(view, {
  path: letterPath(letter.id, "redrive"), title: "Redrive this dead letter?", confirm: "Redrive it",
  text: "A new job does its work again, and the letter is resolved.", told: "The letter was redriven as a new job.", then,
});

export const discard = (view, letter) => act(view, {
  path: letterPath(letter.id, "discard"), title: "Discard this dead letter?", confirm: "Discard it", danger: true,
  text: "It is resolved without being run again.", told: "The letter was discarded.",
});
