// Redrive or cancel many: a look first, and then exactly what it has shown.

import { get, post } from "../api.js";
import { ask, REASON } from "../dialogs.js";
import { h, patch } from "../dom.js";
import { jobLink } from "../links.js";
import { errorText, many, STATUSES } from "../words.js";

const MOST = 1000;
const PAGE = 100;
const AT_ONCE = 4;
const SHOWN = 10;
// What a bulk cancel can be narrowed by; others are of jobs that have ended.
const CANCEL_BY = ["job_type", "status", "scheduled_from", "scheduled_to", "created_from", "created_to", "concurrency_key", "group_id", "schedule", "template"];
const CANCELLED = ["pending", "failed", "in_progress"];

export const bulkRedrive = (view, query) => bulk(view, {
  find: () => openDeadLetters(query),
  nothing: "No open dead letter matches: there is nothing to redrive.",
  question: (found) => ({
    title: `Redrive ${many(found.length, "dead letter")}?`, confirm: `Redrive ${found.length}`,
    text: [`Each would become a new job: ${kinds(found, ({ job_type: type, error_code: code }) => `${type} (${code})`)}. What comes in meanwhile is left alone.`,
      found.length >= MOST ? ` There may be more: these are the latest ${MOST}.` : null],
  }),
  heading: "Redriving",
  sum: (good, all) => `${good} of ${many(all, "dead letter")} redriven`,
  batches: (found) => found.map(({ id }) => [id]),
  send: async ([id], reason) => {
    await post(`/api/dead-letters/${encodeURIComponent(id)}/redrive`, { reason });
    return [];
  },
});

export const bulkCancel = (view, query) => bulk(view, {
  find: () => matchingJobs(query),
  nothing: "No job that waits matches: there is nothing to cancel.",
  question: (found) => ({
    title: `Cancel ${many(found.length, "job")}?`, confirm: `Cancel ${found.length}`, danger: true,
    text: [`They will not run, and those that run are asked to stop: ${kinds(found, ({ job_type: type, status }) => `${type} (${STATUSES[status][0].toLowerCase()})`)}. What comes in meanwhile is left alone.`,
      found.isComplete ? null : " There are more: these are the first."],
    preview: found.slice(0, SHOWN).map((job) => h("li", null, jobLink(job.job_id), ` ${job.job_type}`)),
    more: found.length - SHOWN,
  }),
  heading: "Cancelling",
  sum: (good, all) => `${good} of ${many(all, "job")} cancelled, or asked to stop`,
  batches: (found) => Array.from({ length: Math.ceil(found.length / 25) }, (_, number) => found.slice(number * 25, number * 25 + 25).map((job) => job.job_id)),
  send: async (ids, reason) => (await post("/api/jobs/cancel", { job_ids: ids, reason })).results
    .filter(({ error }) => error).map(({ job_id: id, error }) => ({ id, problem: { message: error.detail } })),
});

async function bulk(view, { find, nothing, question, heading, sum, batches, send }) {
  let found;
  try {
    found = await find();
  } catch (problem) {
    view.say(problem.message, true);
    return;
  }
  if (!found.length) {
    view.say(nothing, true);
    return;
  }
  const { preview, more, ...asked } = question(found);
  const list = preview ? { node: h("div", null, h("ul", { class: "failures" }, preview), more > 0 ? h("p", { class: "quiet" }, `and ${many(more, "other")}.`) : null) } : null;
  const confirmed = await ask({ ...asked, fields: [...(list ? [{ name: "preview", field: list }] : []), REASON], run: async (values) => values });
  if (confirmed === null) return;
  const progress = new Progress(heading, found.length, sum);
  const left = batches(found);
  const worker = async () => {
    while (left.length && !progress.isStopped) {
      const ids = left.shift();
      try {
        progress.count(ids.length, await send(ids, confirmed.reason));
      } catch (problem) {
        progress.count(ids.length, ids.map((id) => ({ id, problem })));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  progress.end();
  view.say(progress.text, true);
  await view.update();
}

// What would be redriven, the oldest first; nothing is changed.
async function openDeadLetters(query) {
  const found = [];
  let cursor;
  do {
    const page = await get("/api/dead-letters", { ...query, limit: PAGE, cursor });
    found.push(...page.items);
    cursor = page.cursor;
  } while (cursor && found.length < MOST);
  return found.reverse();
}

// What would be cancelled; nothing is changed.
async function matchingJobs(query) {
  const other = Object.keys(query).find((name) => !CANCEL_BY.includes(name));
  if (other) throw new Error(`Jobs cannot be cancelled by this filter: clear "${other.replaceAll("_", " ")}" first.`);
  const { status = [], ...rest } = query;
  if (!Object.keys(rest).length) throw new Error("Filter by something besides the status first, e.g. by type: all jobs at once are not cancelled.");
  const ended = status.filter((each) => !CANCELLED.includes(each));
  if (ended.length) throw new Error(`Jobs that have ended cannot be cancelled: take "${STATUSES[ended[0]][0]}" out of the filter.`);
  const filters = Object.fromEntries(Object.entries(rest).map(([name, [value]]) => [name, value]));
  const found = await post("/api/jobs/cancel", { ...filters, status, dry_run: true, reason: "preview" });
  return Object.assign(found.items, { isComplete: found.is_complete });
}

function kinds(found, kindOf) {
  const numbers = new Map();
  for (const each of found) numbers.set(kindOf(each), (numbers.get(kindOf(each)) ?? 0) + 1);
  return [...numbers].map(([kind, number]) => `${number} ${kind}`).join(", ");
}

class Progress {
  constructor(heading, total, sum) {
    Object.assign(this, { total, sum, done: 0, failures: [], isStopped: false, isOver: false });
    this.bar = h("progress", { max: total, value: 0, "aria-labelledby": "progress-heading" });
    this.state = h("p", { role: "status" });
    this.list = h("ul", { class: "failures" });
    this.stop = h("button", { type: "button", onclick: () => (this.isOver ? this.dialog.close() : (this.isStopped = true)) }, "Stop");
    this.dialog = h("dialog", { "aria-labelledby": "progress-heading" },
      h("h2", { id: "progress-heading" }, heading), this.bar, this.state, this.list, h("div", { class: "choices" }, this.stop));
    this.dialog.addEventListener("cancel", (event) => !this.isOver && event.preventDefault());
    this.dialog.addEventListener("close", () => this.dialog.remove());
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.draw();
  }

  get text() {
    const bad = this.failures.length ? `, ${this.failures.length} could not be` : "";
    return `${this.sum(this.done - this.failures.length, this.total)}${bad}.`;
  }

  count(number, failures) {
    this.done += number;
    this.failures.push(...failures);
    this.draw();
  }

  draw() {
    this.bar.value = this.done;
    patch(this.state, [this.text]);
    patch(this.list, this.failures.slice(-20).map(({ id, problem }) => h("li", { "data-key": id }, jobLink(id), ": ", errorText(problem.message))));
  }

  end() {
    this.isOver = true;
    this.stop.textContent = "Close";
    this.stop.focus();
    if (!this.failures.length && !this.isStopped) this.dialog.close();
  }
}
