// Stop and go: the whole system, or one type.

import { get } from "../api.js";
import { act, button } from "../actions.js";
import { REASON } from "../dialogs.js";
import { h } from "../dom.js";
import { auditLink, jobsLink, link } from "../links.js";
import { table } from "../tables.js";
import { duration, when } from "../times.js";
import { badge, many, PRIORITIES } from "../words.js";

export const control = {
  name: "control",
  title: () => "Control",

  async load(_, signal) {
    const [found, counts] = await Promise.all([get("/api/control", null, signal), get("/api/counts", null, signal)]);
    return { ...found, gone: notDeployed(found, counts) };
  },

  render: (view) => {
    const { data } = view;
    const types = Object.entries(data.types).map(([name, settings]) => ({ name, ...settings, pause: data.pauses[name], reservation: data.reservations[name] }));
    const gone = data.gone.map(({ name, waiting }) => ({ name, waiting }));
    return [
      system(view, data),
      h("h2", null, "Job types"),
      table({ caption: "Job types", items: [...gone, ...types], key: (each) => each.name, columns: columns(view), empty: "Nothing is deployed." }),
      h("p", { class: "quiet" }, `${many(data.shards, "shard")}. `,
        data.concurrency ? `At most ${many(data.concurrency, "job")} at once. ` : "No limit on all jobs together. ",
        data.ended_index ? null : "No ended index: lists of ended jobs and charts are off."),
    ];
  },
};

// The system's own type: it makes these jobs itself.
const OWN = "webhook_delivery";

// isAll: the system's own too.
export async function typeNames({ isAll = false } = {}) {
  return Object.keys((await get("/api/control")).types).filter((each) => isAll || each !== OWN);
}

// Types that are not deployed any more, though jobs of theirs wait or run.
export function notDeployed({ types }, { statuses }) {
  const waiting = new Map();
  for (const status of ["pending", "failed", "in_progress"]) {
    for (const [name, { value }] of Object.entries(statuses[status].types)) if (!types[name]) waiting.set(name, (waiting.get(name) ?? 0) + value);
  }
  return [...waiting].map(([name, number]) => ({ name, waiting: number }));
}

// Shown above every page while nothing runs.
export async function haltBanner() {
  const { halt, require_reasons } = await get("/api/control");
  REASON.required = Boolean(require_reasons);
  if (!halt) return [];
  return [h("p", { class: "error banner" }, h("strong", null, "The system is halted"), ` by ${halt.by} `, when(halt.at), `: ${halt.reason}. `,
    link("Go to control", "control"))];
}

function system(view, { halt }) {
  return h("section", { class: `switch ${halt ? "bad" : ""}`, "aria-labelledby": "system" },
    h("h2", { id: "system" }, "The whole system"),
    halt
      ? h("p", null, "Halted by ", halt.by, " ", when(halt.at), ". Reason: ", halt.reason)
      : h("p", null, "It runs: jobs are accepted and started."),
    h("div", { class: "choices start" },
      halt
        ? button("Resume the system…", () => act(view, { path: "/api/control/resume", title: "Resume the system?", confirm: "Resume",
            text: "Jobs are accepted and started again.", done: "The system is resumed." }))
        : button("Halt the system…", () => act(view, { path: "/api/control/halt", title: "Halt the whole system?", confirm: "Halt everything", danger: true,
            text: "No job is accepted or started until it is resumed. What runs finishes.", done: "The system is halted." }), { danger: true }),
      auditLink("control#halt")));
}

function columns(view) {
  return [
    ["Type", (each) => h("span", { class: "clip", title: each.name }, jobsLink(each.name, { job_type: each.name }))],
    ["State", (each) => state(each), { class: "wide" }],
    ["Limits", (each) => (each.waiting ? "" : limits(each))],
    ["Timeout", (each) => (each.waiting ? "" : duration(each.timeout)), { class: "number" }],
    ["Attempts", (each) => each.max_attempts ?? "", { class: "number" }],
    ["Priority", (each) => PRIORITIES[each.priority] ?? ""],
    ["Actions", (each) => h("div", { class: "choices start" }, each.waiting ? null : action(view, each), auditLink(`control#type#${each.name}`, "Records"))],
  ];
}

function state({ pause, reservation, waiting, name }) {
  if (waiting) return [badge("not_deployed"), h("span", { class: "quiet" }, " "), jobsLink(`${many(waiting, "job")} waiting`, { job_type: name, status: ["pending", "failed"] })];
  if (pause) {
    return [badge("paused"), h("span", { class: "quiet" }, ` by ${pause.by} `, when(pause.at), `: ${pause.reason}`,
      pause.circuit?.probe_at ? [", next probe ", when(pause.circuit.probe_at)] : null)];
  }
  return [badge("active"), reservation ? h("span", { class: "quiet" }, " reserved for a direct run until ", when(reservation.until)) : null];
}

function limits(each) {
  const said = [
    each.concurrency && `${each.concurrency} at once`,
    each.concurrency_per_key && `${each.concurrency_per_key} per key`,
    each.rate && `${each.rate.count} in ${duration(each.rate.seconds)}`,
    each.rate_per_key && `${each.rate_per_key.count} in ${duration(each.rate_per_key.seconds)} per key`,
    each.resources && `needs ${each.resources.join(", ")}`,
  ].filter(Boolean);
  return said.join("; ") || "none";
}

function action(view, { name, pause }) {
  const path = (action) => `/api/control/types/${encodeURIComponent(name)}/${action}`;
  if (pause) {
    return button("Resume…", () => act(view, { path: path("resume"), title: `Resume ${name}?`, confirm: "Resume it",
      text: "Its jobs are started again; those that waited are looked at at once.", done: `${name} is resumed.` }), { label: `Resume ${name}` });
  }
  return button("Pause…", () => act(view, { path: path("pause"), title: `Pause ${name}?`, confirm: "Pause it",
    text: "Its jobs are accepted, but none is started until it is resumed.", done: `${name} is paused.` }), { label: `Pause ${name}` });
}
