// Recurring jobs: when they run next, and a hand on them.

import { get } from "../api.js";
import { act, button } from "../actions.js";
import { h } from "../dom.js";
import { auditLink, jobLink, jobsLink, link } from "../links.js";
import { further, Listing, table } from "../tables.js";
import { duration, when } from "../times.js";
import { badge, PRIORITIES } from "../words.js";

export const schedules = {
  name: "schedules",
  title: () => "Schedules",

  async load(view, signal) {
    view.state.listing ??= new Listing("/api/schedules", {});
    await view.state.listing.load(signal);
    return view.state.listing;
  },

  render: (view) => [
    table({
      caption: "Schedules by name", items: view.data.items, key: (each) => each.name,
      empty: "There are no schedules. A [schedule] in a job.toml makes one, and queue.schedules.create does.",
      columns: [
        ["Name", (each) => link(each.name, "schedules", each.name)],
        ["Type", (each) => each.job_type],
        ["Runs", (each) => plan(each)],
        ["State", (each) => badge(stateOf(each))],
        ["Next run", (each) => when(each.next_runs[0])],
        ["Last triggered", (each) => when(each.last_triggered_at)],
        ["Actions", (each) => h("div", { class: "choices start" }, actionsOf(view, each))],
      ],
    }),
    further(view.data, view),
  ],
};

export const schedule = {
  name: "schedules",
  title: ({ params }) => `Schedule ${params.id}`,

  load: (view, signal) => get(`/api/schedules/${encodeURIComponent(view.params.id)}`, null, signal),

  render: (view) => {
    const { data } = view;
    return [
      h("div", { class: "summary" }, badge(stateOf(data)), plan(data)),
      data.mirror_error ? h("p", { class: "error banner" }, "EventBridge was not told: ", data.mirror_error) : null,
      h("div", { class: "choices start", role: "group", "aria-label": "Actions" }, actionsOf(view, data)),
      h("div", { class: "halves" },
        h("section", { "aria-labelledby": "next" }, h("h2", { id: "next" }, "Next runs"),
          data.next_runs.length
            ? h("ol", { class: "timeline" }, data.next_runs.map((each) => h("li", { "data-key": each }, h("span", { class: "event" }, new Date(each).toLocaleString()), " ", when(each))))
            : h("p", { class: "empty" }, "None while it is off.")),
        h("section", { "aria-labelledby": "facts" }, h("h2", { id: "facts" }, "Facts"), facts(data))),
      h("section", { "aria-labelledby": "payload" }, h("h2", { id: "payload" }, "Payload"),
        h("pre", { tabindex: 0, role: "group", "aria-labelledby": "payload" }, JSON.stringify(data.payload, null, 2))),
    ];
  },
};

function plan(each) {
  if (each.cron) return h("span", null, h("code", null, each.cron), ` ${each.timezone}`);
  return `every ${duration(each.every)}`;
}

function stateOf(each) {
  if (each.paused) return "paused";
  return each.is_active ? "active" : "disabled";
}

function facts(data) {
  const rows = [
    ["Type", jobsLink(data.job_type, { job_type: data.job_type })],
    ["Template", data.template],
    ["Priority", PRIORITIES[data.priority]],
    ["Missed runs", data.missed],
    ["Overlap", data.overlap],
    ["Defined in", data.origin],
    ["Created by", data.created_by],
    ["Last triggered", data.last_triggered_at && when(data.last_triggered_at)],
    ["Last job", data.last_job_id && jobLink(data.last_job_id)],
    ["Jobs", jobsLink("Its jobs", { schedule: data.name })],
    ["Records", auditLink(`schedule#${data.name}`)],
  ];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value)
    .map(([name, value]) => h("div", { "data-key": name }, h("dt", null, name), h("dd", null, value))));
}

function actionsOf(view, { name, paused }) {
  const path = (action) => `/api/schedules/${encodeURIComponent(name)}/${action}`;
  return [
    paused
      ? button("Resume…", () => act(view, { path: path("resume"), title: `Resume ${name}?`, confirm: "Resume it",
          text: "It goes on with its next slot; what passed in the pause is not made up for.", told: `${name} is resumed.` }), { label: `Resume ${name}` })
      : button("Pause…", () => act(view, { path: path("pause"), title: `Pause ${name}?`, confirm: "Pause it",
          text: "It makes no jobs until it is resumed.", told: `${name} is paused.` }), { label: `Pause ${name}` }),
    button("Trigger…", () => act(view, { path: path("trigger"), title: `Run ${name} once now?`, confirm: "Trigger it",
      text: "It makes one job now, outside of its plan.", told: `${name} was triggered.` }), { label: `Trigger ${name}` }),
  ];
}
