// Named presets for jobs.

import { get } from "../api.js";
import { act, button, PRIORITY_OPTIONS } from "../actions.js";
import { h } from "../dom.js";
import { auditLink, jobsLink, to } from "../links.js";
import { PayloadField } from "../payload_field.js";
import { clip, facts, further, json, Listing, section, table } from "../tables.js";
import { duration, when } from "../times.js";
import { PRIORITIES } from "../words.js";
import { enqueue } from "./enqueue.js";
import { jobColumns } from "./jobs.js";
import { typeNames } from "./control.js";

const OPTIONAL = ["priority", "max_attempts", "retry", "webhook", "description"];

export const templates = {
  name: "templates",
  title: () => "Templates",
  controls: (view) => button("Create a template…", () => create(view)),

  async load(view, signal) {
    view.state.listing ??= new Listing("/api/templates", {});
    await view.state.listing.load(signal);
    return view.state.listing;
  },

  render: (view) => [
    table({
      caption: "Templates by name", items: view.data.items, key: (each) => each.name,
      empty: "There are no templates. A template keeps what jobs of a type are often given.",
      columns: [
        ["Name", (each) => h("a", { href: to("templates", each.name), class: "clip", title: each.name }, each.name)],
        ["Type", (each) => clip(each.job_type)],
        ["Description", (each) => clip(each.description), { class: "wide" }],
        ["Changed", (each) => `version ${each.version}`],
        ["Created", (each) => when(each.created_at)],
        ["Actions", (each) => h("div", { class: "choices start" }, actionsOf(view, each))],
      ],
    }),
    further(view.data, view),
  ],
};

export const template = {
  name: "templates",
  every: 30,
  title: ({ params }) => `Template ${params.id}`,

  async load(view, signal) {
    view.state.jobs ??= new Listing("/api/jobs", { template: view.params.id }, 10);
    const [found] = await Promise.all([get(`/api/templates/${encodeURIComponent(view.params.id)}`, null, signal), view.state.jobs.load(signal)]);
    return found;
  },

  render: (view) => {
    const { data } = view;
    return [
      data.description ? h("p", { class: "note" }, data.description) : null,
      h("div", { class: "choices start", role: "group", "aria-label": "Actions" }, actionsOf(view, data)),
      h("div", { class: "halves" },
        section("Facts", facts([
          ["Type", jobsLink(data.job_type, { job_type: data.job_type })],
          ["Priority", PRIORITIES[data.priority] ?? "as its type"],
          ["Attempts", data.max_attempts ?? "as its type"],
          ["Retries", retryText(data.retry)],
          ["Webhook", data.webhook],
          ["Version", data.version],
          ["Created", [when(data.created_at), ` by ${data.created_by}`]],
          ["Records", auditLink(`template#${data.name}`)],
        ])),
        json("Payload", data.payload)),
      section("Its latest jobs", table({ caption: "Jobs made from it", items: view.state.jobs.items, key: (job) => job.job_id, columns: jobColumns(), empty: "No job was made from it, as far as was searched." }),
        h("p", null, jobsLink("All its jobs", { template: data.name }))),
    ];
  },
};

function actionsOf(view, each) {
  const path = `/api/templates/${encodeURIComponent(each.name)}`;
  return [
    button("Enqueue…", () => enqueue(view, each), { label: `Enqueue a job from ${each.name}` }),
    button("Edit…", () => edit(view, each), { label: `Edit ${each.name}` }),
    button("Delete…", () => act(view, { path, method: "DELETE", title: `Delete ${each.name}?`, confirm: "Delete it", danger: true,
      text: "Jobs that were made from it stay as they are. One that a schedule needs is not deleted.", done: `${each.name} is deleted.`,
      then: () => view.params.id && (location.hash = "#/templates") }), { danger: true, label: `Delete ${each.name}` }),
  ];
}

async function create(view) {
  const types = await typeNames();
  await act(view, {
    path: "/api/templates", title: "Create a template", confirm: "Create it", done: (made) => `${made.name} is created.`,
    text: "What is left out here is left to the job type.",
    fields: [{ name: "name", label: "Name", required: true, maxlength: 64, hint: "Letters, digits, - and _." }, ...fields({}, types)],
    body: (values) => document(values), then: (made) => (location.hash = to("templates", made.name)),
  });
}

async function edit(view, each) {
  const types = await typeNames();
  await act(view, {
    path: `/api/templates/${encodeURIComponent(each.name)}`, method: "PATCH", title: `Edit ${each.name}`, confirm: "Save it", done: `${each.name} is changed.`,
    text: "Jobs that exist keep what they have.",
    fields: fields(each, types),
    body: (values) => {
      const wanted = document(values);
      return { ...wanted, remove: OPTIONAL.filter((name) => each[name] !== undefined && wanted[name] === undefined) };
    },
  });
}

function fields(each, types) {
  const { retry = {} } = each;
  return [
    { name: "job_type", label: "Type", type: "select", required: true, value: each.job_type, options: types.map((name) => [name, name]) },
    { name: "description", label: "Description", value: each.description, maxlength: 1024 },
    { name: "payload", field: new PayloadField({ value: each.payload, isPartial: true, hint: "A JSON object of defaults; a job's own payload replaces single keys of it." }) },
    { name: "priority", label: "Priority", type: "select", value: String(each.priority ?? ""), options: [["", "As its type"], ...PRIORITY_OPTIONS] },
    { name: "max_attempts", label: "Attempts", type: "number", min: 1, value: each.max_attempts },
    { name: "retry", label: "Wait between attempts", type: "select", value: retry.kind ?? "", options: [["", "As its type"], ["fixed", "Always the same"], ["exponential", "Twice as long each time"], ...(retry.kind === "delays" ? [["delays", `As it is: ${retryText(retry)}`]] : [])] },
    { name: "delay", label: "Seconds to wait", type: "number", min: 0, required: true, value: retry.delay ?? 60, shownIf: ({ retry: kind }) => kind === "fixed" },
    { name: "base", label: "Seconds to wait at first", type: "number", min: 0, required: true, value: retry.base ?? 60, shownIf: ({ retry: kind }) => kind === "exponential" },
    { name: "cap", label: "Seconds to wait at most", type: "number", min: 0, required: true, value: retry.cap ?? 21600, shownIf: ({ retry: kind }) => kind === "exponential" },
    { name: "webhook", label: "Webhook", type: "url", value: each.webhook, hint: "An https address that is called at the end of each run." },
  ];
}

function document({ priority, max_attempts: attempts, retry, delay, base, cap, description, webhook, ...rest }) {
  const retries = { fixed: { kind: "fixed", delay: Number(delay) }, exponential: { kind: "exponential", base: Number(base), cap: Number(cap) } };
  return {
    ...rest,
    ...(priority && { priority: Number(priority) }),
    ...(attempts && { max_attempts: Number(attempts) }),
    ...(retries[retry] && { retry: retries[retry] }),
    ...(description && { description }),
    ...(webhook && { webhook }),
  };
}

function retryText(retry) {
  if (!retry) return "as its type";
  if (retry.kind === "fixed") return `after ${duration(retry.delay)}`;
  if (retry.kind === "delays") return `after ${retry.delays.map(duration).join(", ")}`;
  return `after ${duration(retry.base)}, then twice as long each time, up to ${duration(retry.cap)}`;
}
