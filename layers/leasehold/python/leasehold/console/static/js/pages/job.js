// One job: what it is, what became of it, and what can be done with it.

import { get } from "../api.js";
import { button, cancel, discard, editAndRedrive, purge, redrive, reprioritise, retry, runNow } from "../actions.js";
import { h } from "../dom.js";
import { auditLink, jobLink, jobsLink, link } from "../links.js";
import { facts, json, section, table } from "../tables.js";
import { duration, when } from "../times.js";
import { badge, errorText, PRIORITIES, sentence, STATUSES } from "../words.js";
import { typeNames } from "./control.js";

export const job = {
  name: "jobs",
  every: 2,
  title: ({ data, params }) => (data ? `${data.job_type} job` : `Job ${params.id}`),

  async load(view, signal) {
    view.state.types ??= await typeNames({ isAll: true });
    const found = await get(`/api/jobs/${encodeURIComponent(view.params.id)}`, null, signal);
    const before = view.data?.status;
    if (before && before !== found.status) view.say(`The job is now: ${STATUSES[found.status][0]}`);
    return found;
  },

  render: (view) => {
    const { data } = view;
    const isGone = !data.ended_at && !view.state.types.includes(data.job_type);
    return [
      h("div", { class: "summary" }, badge(data.status), isGone ? badge("not_deployed") : null, h("code", { class: "id whole" }, data.job_id)),
      data.error ? h("p", { class: "error banner" }, errorText(data.error, data.error_code)) : null,
      data.dead_letter ? deadLetter(data.dead_letter) : null,
      h("div", { class: "choices start", role: "group", "aria-label": "Actions" }, actionsOf(view)),
      h("div", { class: "halves" },
        section("Facts", factsOf(data)),
        section("Timeline", timeline(data))),
      section("Runs", runs(data)),
      json("Payload", data.payload),
      data.result !== undefined ? json("Result", data.result) : null,
    ];
  },
};

function actionsOf(view) {
  const { data } = view;
  const isOpen = data.dead_letter?.is_open;
  const isWaiting = data.status === "pending" || data.status === "failed";
  const hasEnded = !isWaiting && data.status !== "in_progress";
  return [
    isOpen && button("Redrive…", () => redrive(view, data.dead_letter)),
    isOpen && button("Edit and redrive…", () => editAndRedrive(view, data.dead_letter)),
    isOpen && button("Discard…", () => discard(view, data.dead_letter), { danger: true }),
    isWaiting && button("Run now…", () => runNow(view, data)),
    isWaiting && button("Priority…", () => reprioritise(view, data)),
    hasEnded && !isOpen && button("Run again…", () => retry(view, data)),
    !hasEnded && button("Cancel…", () => cancel(view, data), { danger: true }),
    hasEnded && button("Purge…", () => purge(view, data), { danger: true }),
  ];
}

function deadLetter(found) {
  if (found.is_open) return h("p", { class: "note" }, "Its dead letter is open since ", when(found.failed_at), ": redrive it, or discard it.");
  return h("p", { class: "note" }, `Its dead letter was ${found.resolution ?? "resolved"} by ${found.resolved_by} `, when(found.resolved_at),
    found.redriven_as ? [" as ", jobLink(found.redriven_as, "a new job")] : null, `. Reason: ${found.resolved_reason ?? "–"}`);
}

function factsOf(data) {
  return facts([
    ["Type", jobsLink(data.job_type, { job_type: data.job_type })],
    ["Priority", PRIORITIES[data.priority] ?? data.priority],
    ["Scheduled for", when(data.scheduled_for)],
    ["Due", data.due_at && when(data.due_at)],
    ["Held by", data.held_by],
    ["Attempts", `${data.attempts} of ${data.max_attempts}`],
    ["Created", [when(data.created_at), ` by ${data.created_by}`]],
    ["Lease", data.lease && [`${data.lease.holder} until `, when(data.lease.until)]],
    ["Ended", data.ended_at && when(data.ended_at)],
    ["Cancel asked", data.cancel_requested_at && when(data.cancel_requested_at)],
    ["Cancel reason", data.cancel_reason],
    ["Dedup key", data.dedup_key],
    ["Concurrency key", data.concurrency_key],
    ["Schedule", data.schedule && link(data.schedule, "schedules", data.schedule)],
    ["Group", data.group_id && link(data.group_id, "groups", data.group_id)],
    ["Template", data.template && link(data.template, "templates", data.template)],
    ["Retry of", data.retry_of && jobLink(data.retry_of)],
    ["Webhook", data.webhook],
    ["Logs", data.logs && (data.logs.startsWith("https://") ? h("a", { href: data.logs, target: "_blank", rel: "noreferrer" }, "In CloudWatch (opens a new tab)") : h("code", null, data.logs))],
    ["Kept until", data.expires_at && when(data.expires_at)],
    ["Records", [auditLink(`job#${data.job_id}`), data.dead_letter ? [", ", auditLink(`dead-letter#${data.job_id}`, "of its dead letter")] : null]],
  ]);
}

function timeline(data) {
  return h("ol", { class: "timeline" }, data.timeline.map((moment, index) =>
    h("li", { "data-key": `${index}-${moment.event}`, class: toneOf(moment.event) },
      h("span", { class: "event" }, sentence(moment.event)), " ", when(moment.at),
      h("span", { class: "quiet" }, details(moment)),
      moment.job_id ? [" ", jobLink(moment.job_id, "as a new job")] : null)));
}

function details({ run, worker, seconds, error_code: code, reason, by }) {
  const said = [run && `run ${run}`, by && `by ${by}`, worker && `on ${worker}`, seconds !== undefined && `after ${duration(seconds)}`, code, reason];
  const text = said.filter(Boolean).join(", ");
  return text ? ` ${text}` : "";
}

function toneOf(event) {
  return { failed: "failed", redriven: "completed", completed: "completed", dead_letter: "dead_letter", running: "in_progress", started: "in_progress" }[event] ?? "pending";
}

function runs(data) {
  return table({
    caption: "Runs", items: [...data.runs].reverse(), key: (run) => String(run.attempt), empty: "It has not run yet.",
    columns: [
      ["Run", (run) => `#${run.attempt}`],
      ["Outcome", (run) => badge({ FAILED: "failed_run", RUNNING: "in_progress" }[run.status] ?? run.status)],
      ["Started", (run) => when(run.started_at)],
      ["Took", (run) => run.ended_at ? duration((new Date(run.ended_at) - new Date(run.started_at)) / 1000) : "", { class: "number" }],
      ["Worker", (run) => h("code", { class: "clip", title: run.worker }, run.worker ?? "")],
      ["Error", (run) => error(run), { class: "wide" }],
    ],
  });
}

function error(run) {
  const text = errorText(run.error ?? run.reason, run.error_code);
  if (!run.traceback) return text;
  return h("details", null, h("summary", null, h("span", null, text)),
    h("pre", { tabindex: 0, role: "group", "aria-label": `Traceback of run ${run.attempt}` }, run.traceback));
}
