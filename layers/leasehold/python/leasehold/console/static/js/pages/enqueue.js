// Make a job by hand.

import { post } from "../api.js";
import { PRIORITY_OPTIONS } from "../actions.js";
import { ask, REASON } from "../dialogs.js";
import { PayloadField } from "../payload_field.js";
import { toUtc } from "../times.js";
import { typeNames } from "./control.js";

// template: what the job is made from, if it is.
export async function enqueue(view, template) {
  const types = template ? [template.job_type] : await typeNames();
  const made = await ask({
    title: template ? `Enqueue a job from ${template.name}` : "Enqueue a job",
    confirm: "Enqueue it",
    fields: [
      { name: "job_type", label: "Type", type: "select", required: true, options: types.map((each) => [each, each]) },
      { name: "payload", field: new PayloadField({ value: template?.payload ?? {}, isPartial: Boolean(template) }) },
      { name: "run_at", label: "Run at", type: "datetime-local", hint: "Your own time; empty for now." },
      { name: "priority", label: "Priority", type: "select", options: [["", template ? "As its template or type" : "As its type"], ...PRIORITY_OPTIONS] },
      { name: "dedup_key", label: "Dedup key" },
      REASON,
    ],
    run: (values) => post("/api/jobs", document(values, template)),
  });
  if (made === null) return;
  view.say(made.created === false ? "There is such a job already: this is it." : "The job was enqueued.", true);
  location.hash = `#/jobs/${encodeURIComponent(made.job_id)}`;
}

function document({ run_at: runAt, priority, dedup_key: key, ...rest }, template) {
  const wanted = { ...rest };
  if (runAt) wanted.run_at = toUtc(runAt);
  if (priority) wanted.priority = Number(priority);
  if (key) wanted.dedup_key = key;
  if (template) Object.assign(wanted, { template: template.name, job_type: undefined });
  return wanted;
}
