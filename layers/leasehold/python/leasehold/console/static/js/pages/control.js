// Stop and go: the whole system, or one type.

import { get } from "../api.js";
import { act, button } from "../actions.js";
import { h } from "../dom.js";
import { auditLink, jobsLink, link } from "../links.js";
import { table } from "../tables.js";
import { duration, when } from "../times.js";
import { badge, many, PRIORITIES } from "../words.js";

export const control = {
  name: "control",
  title: () => "Control",

  load: (_, signal) => get("/api/control", null, signal),

  render: (view) => {
    const { data } = view;
    const types = Object.entries(data.types).map(([name, settings]) => ({ name, ...settings, pause: data.pauses[name], reservation: data.reservations[name] }));
    return [
      system(view, data),
      h("h2", null, "Job types"),
      table({ caption: "Job types", items: types, key: (each) => each.name, columns: columns(view), empty: "Nothing is deployed." }),
      h("p", { class: "quiet" }, `${many(data.shards, "shard")}. `,
        data.concurrency ? `At most ${many(data.concurrency, "job")} at once. ` : "No limit on all jobs together. ",
        data.ended_index ? null : "No ended index: lists of ended jobs and charts are off."),
    ];
  },
};

// Shown above every page while nothing runs.
export async function haltBanner() {
  const { halt } = await get("/api/control");
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
            text: "Jobs are accepted and started again.", told: "The system is resumed." }))
        : button("Halt the system…", () => act(view, { path: "/api/control/halt", title: "Halt the whole system?", confirm: "Halt everything", danger: true,
            text: "No job is accepted or started until it is resumed. What runs finishes.", told: "The system is halted." }), { danger: true }),
      auditLink("control#halt")));
}

function columns(view) {
  return [
    ["Type", (each) => jobsLink(each.name, { job_type: each.name })],
    ["State", (each) => state(each)],
    ["Limits", (each) => limits(each)],
    ["Timeout", (each) => duration(each.timeout), { class: "number" }],
    ["Attempts", (each) => each.max_attempts, { class: "number" }],
    ["Priority", (each) => PRIORITIES[each.priority] ?? each.priority],
    ["Actions", (each) => h("div", { class: "choices start" }, action(view, each), auditLink(`control#type#${each.name}`, "Records"))],
  ];
}

function state({ pause, reservation }) {
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
      text: "Its jobs are started again; those that waited are looked at at once.", told: `${name} is resumed.` }), { label: `Resume ${name}` });
  }
  return button("Pause…", () => act(view, { path: path("pause"), title: `Pause ${name}?`, confirm: "Pause it",
    text: "Its jobs are accepted, but none is started until it is resumed.", told: `${name} is paused.` }), { label: `Pause ${name}` });
}
