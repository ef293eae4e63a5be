// Recurring jobs: when they run next, and a hand on them.

import { get } from "../api.js";
import { act, button, PRIORITY_OPTIONS } from "../actions.js";
import { h, patch } from "../dom.js";
import { auditLink, jobLink, jobsLink, link, to } from "../links.js";
import { PayloadField } from "../payload_field.js";
import { clip, facts, further, json, Listing, section, table } from "../tables.js";
import { inZone, when } from "../times.js";
import { badge, PRIORITIES, sentence } from "../words.js";
import { typeNames } from "./control.js";
import { jobColumns } from "./jobs.js";

export const schedules = {
  name: "schedules",
  title: () => "Schedules",
  controls: (view) => button("Create a schedule…", () => create(view)),

  async load(view, signal) {
    view.state.listing ??= new Listing("/api/schedules", {});
    await view.state.listing.load(signal);
    return view.state.listing;
  },

  render: (view) => [
    table({
      caption: "Schedules by name", items: view.data.items, key: (each) => each.name,
      empty: "There are no schedules yet. A schedule makes a job at every time of its plan.",
      columns: [
        ["Name", (each) => h("a", { href: to("schedules", each.name), class: "clip", title: each.name }, each.name)],
        ["Type", (each) => clip(each.job_type)],
        ["Runs", (each) => plan(each), { class: "wide" }],
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
  every: 30,
  title: ({ params }) => `Schedule ${params.id}`,

  async load(view, signal) {
    view.state.jobs ??= new Listing("/api/jobs", { schedule: view.params.id }, 10);
    const [found] = await Promise.all([get(`/api/schedules/${encodeURIComponent(view.params.id)}`, null, signal), view.state.jobs.load(signal)]);
    return found;
  },

  render: (view) => {
    const { data } = view;
    return [
      h("div", { class: "summary" }, badge(stateOf(data)), plan(data)),
      data.mirror_error ? h("p", { class: "error banner" }, "EventBridge does not know it as it is: ", data.mirror_error) : null,
      h("div", { class: "choices start", role: "group", "aria-label": "Actions" }, actionsOf(view, data)),
      data.origin === "deployed" ? h("p", { class: "note" }, "It comes from the job.toml of its type: change it there and deploy. Here it can be paused and triggered.") : null,
      h("div", { class: "halves" },
        section("Next runs", data.next_runs.length ? slots(data.next_runs, data.timezone) : h("p", { class: "empty" }, "None while it is off.")),
        section("Facts", facts([
          ["Type", jobsLink(data.job_type, { job_type: data.job_type })],
          ["Template", data.template && link(data.template, "templates", data.template)],
          ["Timezone", data.timezone ?? "UTC"],
          ["Priority", PRIORITIES[data.priority]],
          ["Missed runs", MISSED[data.missed]],
          ["Overlap", OVERLAP[data.overlap]],
          ["Created by", data.created_by],
          ["Last triggered", data.last_triggered_at && when(data.last_triggered_at)],
          ["Last job", data.last_job_id && jobLink(data.last_job_id)],
          ["Records", auditLink(`schedule#${data.name}`)],
        ]))),
      json("Payload", data.payload),
      section("Its latest jobs", table({ caption: "Jobs that it made", items: view.state.jobs.items, key: (job) => job.job_id, columns: jobColumns(), empty: "It made no job yet, as far as was searched." }),
        h("p", null, jobsLink("Its jobs", { schedule: data.name }))),
    ];
  },
};

const MISSED = { latest: "run the latest of them", all: "run each of them", skip: "leave them out" };
const OVERLAP = { skip: "leave a run out while the one before goes on", queue: "wait until the one before has ended", allow: "run both" };

function plan(each) {
  const zone = each.cron ? ` (${each.timezone})` : "";
  return h("span", { class: "clip", title: each.cron ? `${each.cron}${zone}` : each.plan }, `${sentence(each.plan)}${zone}`, each.cron ? [" ", h("code", null, each.cron)] : null);
}

function slots(moments, zone) {
  return h("ol", { class: "timeline" }, moments.map((each) =>
    h("li", { "data-key": each }, h("span", { class: "event" }, inZone(each, zone)), " ", when(each))));
}

function stateOf(each) {
  if (each.paused) return "paused";
  return each.is_active ? "active" : "disabled";
}

function actionsOf(view, each) {
  const { name, paused } = each;
  const one = `/api/schedules/${encodeURIComponent(name)}`;
  const isOurs = each.origin !== "deployed";
  return [
    paused
      ? button("Resume…", () => act(view, { path: `${one}/resume`, title: `Resume ${name}?`, confirm: "Resume it",
          text: "It goes on with its next time; what passed in the pause is not made up for.", done: `${name} is resumed.` }), { label: `Resume ${name}` })
      : button("Pause…", () => act(view, { path: `${one}/pause`, title: `Pause ${name}?`, confirm: "Pause it",
          text: "It makes no jobs until it is resumed.", done: `${name} is paused.` }), { label: `Pause ${name}` }),
    button("Trigger…", () => act(view, { path: `${one}/trigger`, title: `Run ${name} once now?`, confirm: "Trigger it",
      text: "It makes one job now, outside of its plan.", done: `${name} was triggered.` }), { label: `Trigger ${name}` }),
    isOurs && button("Edit…", () => edit(view, each), { label: `Edit ${name}` }),
    isOurs && button("Delete…", () => act(view, { path: one, method: "DELETE", title: `Delete ${name}?`, confirm: "Delete it", danger: true,
      text: "It makes no more jobs. Those that it made stay.", done: `${name} is deleted.`,
      then: () => view.params.id && (location.hash = "#/schedules") }), { danger: true, label: `Delete ${name}` }),
  ];
}

async function create(view) {
  const [types, templates] = await choices();
  const preview = new Preview();
  await act(view, {
    path: "/api/schedules", title: "Create a schedule", confirm: "Create it", done: (made) => `${made.name} is created.`, watch: (values) => preview.show(values),
    fields: [
      { name: "name", label: "Name", required: true, maxlength: 64, hint: "Letters, digits, - and _." },
      { name: "template", label: "Template", type: "select", options: [["", "None: choose a type"], ...templates.map((each) => [each, each])] },
      { name: "job_type", label: "Type", type: "select", required: true, options: types.map((each) => [each, each]), shownIf: ({ template }) => !template },
      ...fields({ cron: "0 9 * * 1-5", timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }, preview),
    ],
    body: document, then: (made) => (location.hash = to("schedules", made.name)),
  });
}

async function edit(view, each) {
  const [types, templates] = await choices();
  const preview = new Preview();
  const from = each.template
    ? { name: "template", label: "Template", type: "select", required: true, value: each.template, options: known(templates, each.template) }
    : { name: "job_type", label: "Type", type: "select", required: true, value: each.job_type, options: known(types, each.job_type) };
  await act(view, {
    path: `/api/schedules/${encodeURIComponent(each.name)}`, method: "PATCH", title: `Edit ${each.name}`, confirm: "Save it", done: `${each.name} is changed.`,
    text: "A new plan counts from now on.", watch: (values) => preview.show(values),
    fields: [from, ...fields(each, preview), { name: "enabled", label: "It is on", type: "checkbox", value: each.enabled }],
    body: document,
  });
}

async function choices() {
  const [types, templates] = await Promise.all([typeNames(), get("/api/templates", { limit: 100 })]);
  return [types, templates.items.map(({ name }) => name)];
}

const known = (names, one) => (names.includes(one) ? names : [...names, one]).map((each) => [each, each]);
const isCron = ({ repeats }) => repeats === "cron";
const isRate = ({ repeats }) => repeats === "every";

function fields(each, preview) {
  return [
    { name: "repeats", label: "It runs", type: "select", required: true, value: each.every ? "every" : "cron", options: [["cron", "At times of a cron line"], ["every", "At a fixed rate"]] },
    { name: "cron", label: "Cron line", required: true, value: each.cron, hint: "Minute, hour, day of the month, month, day of the week.", shownIf: isCron },
    { name: "timezone", label: "Timezone", required: true, value: each.timezone ?? "UTC", list: ["UTC", ...Intl.supportedValuesOf("timeZone")], shownIf: isCron },
    { name: "every", label: "Minutes from one to the next", type: "number", min: 1, required: true, value: each.every ? each.every / 60 : 60, shownIf: isRate },
    { name: "preview", field: preview },
    { name: "payload", field: new PayloadField({ value: each.payload, type: each.job_type }) },
    { name: "missed", label: "Runs missed in an outage", type: "select", required: true, value: each.missed, options: options(MISSED) },
    { name: "overlap", label: "While the run before goes on", type: "select", required: true, value: each.overlap, options: options(OVERLAP) },
    { name: "priority", label: "Priority", type: "select", value: String(each.priority ?? ""), options: [...(each.priority === undefined ? [["", "As its type"]] : []), ...PRIORITY_OPTIONS] },
  ];
}

const options = (meanings) => Object.entries(meanings).map(([name, text]) => [name, sentence(text)]);

function document({ repeats, every, priority, template, ...rest }) {
  return { ...rest, ...(isRate({ repeats }) && { every: Number(every) * 60 }), ...(priority && { priority: Number(priority) }), ...(template && { template }) };
}

// What a plan means, while it is written.
class Preview {
  constructor() {
    this.node = h("div", { class: "note preview", role: "status" });
    this.asked = null;
  }

  async show({ cron, timezone, every }) {
    const query = every === undefined ? { cron, timezone } : { every: Number(every) * 60 };
    const asked = JSON.stringify(query);
    if (asked === this.asked) return;
    this.asked = asked;
    try {
      const found = await get("/api/schedule-preview", { ...query, next_runs: 3 });
      if (asked === this.asked) patch(this.node, [h("p", null, sentence(found.plan)), slots(found.next_runs, timezone)]);
    } catch (problem) {
      if (asked === this.asked) patch(this.node, [h("p", { class: "error" }, problem.message)]);
    }
  }
}
