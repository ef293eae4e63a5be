// Redrive many: a dry run first, and then exactly what it has shown, one after the other.

import { get, post } from "../api.js";
import { ask, REASON } from "../dialogs.js";
import { h, patch } from "../dom.js";
import { jobLink } from "../links.js";
import { many } from "../words.js";

const MOST = 1000;
const PAGE = 100;
const AT_ONCE = 4;

export async function bulkRedrive(view, query) {
  let found;
  try {
    found = await dryRun(query);
  } catch (problem) {
    view.fail(problem);
    return;
  }
  if (!found.length) {
    view.say("No open dead letter matches: there is nothing to redrive.", true);
    return;
  }
  const confirmed = await ask({
    title: `Redrive ${many(found.length, "dead letter")}?`,
    text: [
      `Each would become a new job: ${kinds(found)}. Letters that come in meanwhile are left alone.`,
      found.length >= MOST ? ` There may be more: these are the latest ${MOST}.` : null,
    ],
    fields: [REASON],
    confirm: `Redrive ${found.length}`,
    run: async (values) => values,
  });
  if (confirmed !== null) await redriveAll(view, found.map(({ id }) => id), confirmed.reason);
}

// What would be redriven, the oldest first; nothing is changed.
async function dryRun(query) {
  const found = [];
  let cursor;
  do {
    const page = await get("/api/dead-letters", { ...query, limit: PAGE, cursor });
    found.push(...page.items);
    cursor = page.cursor;
  } while (cursor && found.length < MOST);
  return found.reverse();
}

function kinds(letters) {
  const numbers = new Map();
  for (const { job_type: type, error_code: code } of letters) {
    const kind = `${type} (${code})`;
    numbers.set(kind, (numbers.get(kind) ?? 0) + 1);
  }
  return [...numbers].map(([kind, number]) => `${number} ${kind}`).join(", ");
}

async function redriveAll(view, ids, reason) {
  const progress = new Progress(ids.length);
  const left = [...ids];
  const worker = async () => {
    while (left.length && !progress.isStopped) {
      const id = left.shift();
      try {
        await post(`/api/dead-letters/${encodeURIComponent(id)}/redrive`, { reason });
        progress.count();
      } catch (problem) {
        progress.count({ id, problem });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  progress.end();
  view.say(progress.text, true);
  await view.update();
}

class Progress {
  constructor(total) {
    Object.assign(this, { total, done: 0, failures: [], isStopped: false, isOver: false });
    this.bar = h("progress", { max: total, value: 0, "aria-labelledby": "redriving" });
    this.told = h("p", { role: "status" });
    this.list = h("ul", { class: "failures" });
    this.stop = h("button", { type: "button", onclick: () => (this.isOver ? this.dialog.close() : (this.isStopped = true)) }, "Stop");
    this.dialog = h("dialog", { "aria-labelledby": "redriving" },
      h("h2", { id: "redriving" }, "Redriving"), this.bar, this.told, this.list, h("div", { class: "choices" }, this.stop));
    this.dialog.addEventListener("cancel", (event) => !this.isOver && event.preventDefault());
    this.dialog.addEventListener("close", () => this.dialog.remove());
    document.body.append(this.dialog);
    this.dialog.showModal();
    this.draw();
  }

  get text() {
    const good = this.done - this.failures.length;
    const bad = this.failures.length ? `, ${this.failures.length} could not be` : "";
    return `${good} of ${many(this.total, "dead letter")} redriven${bad}.`;
  }

  count(failure) {
    this.done += 1;
    if (failure) this.failures.push(failure);
    this.draw();
  }

  draw() {
    this.bar.value = this.done;
    patch(this.told, [this.text]);
    patch(this.list, this.failures.slice(-20).map(({ id, problem }) => h("li", { "data-key": id }, jobLink(id), ": ", problem.message)));
  }

  end() {
    this.isOver = true;
    this.stop.textContent = "Close";
    this.stop.focus();
    if (!this.failures.length && !this.isStopped) this.dialog.close();
  }
}
