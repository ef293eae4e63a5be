// Make a job by hand.

import { post } from "../api.js";
import { ask, REASON } from "../dialogs.js";
import { toUtc } from "../times.js";
import { PRIORITIES, sentence } from "../words.js";

// The system's own type: it makes these jobs itself.
const OWN = "webhook_delivery";

export async function enqueue(view) {
  const made = await ask({
    title: "Enqueue a job",
    confirm: "Enqueue it",
    fields: [
      { name: "job_type", label: "Type", type: "select", required: true, options: (view.state.types ?? []).filter((each) => each !== OWN).map((each) => [each, each]) },
      { name: "payload", label: "Payload", type: "textarea", required: true, value: "{}", hint: "A JSON object." },
      { name: "run_at", label: "Run at", type: "datetime-local", hint: "Your own time; empty for now." },
      { name: "priority", label: "Priority", type: "select", options: [["", "As its type"], ...PRIORITIES.map((name, level) => [String(level), sentence(name)])] },
      { name: "dedup_key", label: "Dedup key" },
      REASON,
    ],
    run: (values) => post("/api/jobs", document(values)),
  });
  if (made === null) return;
  view.say(made.created === false ? "There is such a job already: this is it." : "The job was enqueued.", true);
  location.hash = `#/jobs/${encodeURIComponent(made.job_id)}`;
}

function document({ payload, run_at: runAt, priority, dedup_key: key, ...rest }) {
  const wanted = { ...rest, payload: parsed(payload) };
  if (runAt) wanted.run_at = toUtc(runAt);
  if (priority) wanted.priority = Number(priority);
  if (key) wanted.dedup_key = key;
  return wanted;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The payload is not JSON: ${error.message}`);
  }
}
