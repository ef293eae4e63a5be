// What failed for good and waits for somebody.

import { get } from "../api.js";
import { button, discard, editAndRedrive, redrive } from "../actions.js";
import { h } from "../dom.js";
import { jobLink } from "../links.js";
import { clip, further, table } from "../tables.js";
import { when } from "../times.js";
import { errorText } from "../words.js";
import { bulkRedrive } from "./bulk.js";
import { typeNames } from "./control.js";
import { asked, filtered } from "./filters.js";

export const deadLetters = {
  name: "dead-letters",
  title: () => "Dead letters",

  controls: (view) => button("Redrive all that match…", () => bulkRedrive(view, asked(view))),

  load: (view, signal) => filtered(view, signal, {
    path: "/api/dead-letters", label: "Filter dead letters",
    fields: async () => [
      { name: "job_type", label: "Type", type: "select", options: await typeNames() },
      { name: "failed_from", label: "Failed from", type: "time" },
      { name: "failed_to", label: "Failed before", type: "time" },
    ],
  }),

  render: (view) => [
    table({
      caption: "Open dead letters, the newest first", items: view.data.items, key: (each) => each.id,
      empty: view.query ? "No open dead letter matches this filter." : "No dead letter is open. All is well.",
      columns: [
        ["Job", (each) => jobLink(each.id)],
        ["Type", (each) => clip(each.job_type)],
        ["Failed", (each) => when(each.failed_at)],
        ["Attempts", (each) => each.attempts, { class: "number" }],
        ["Error", (each) => clip(errorText(each.failure_reason, each.error_code)), { class: "wide" }],
        ["Actions", (each) => h("div", { class: "choices start" }, actionsOf(view, each))],
      ],
    }),
    further(view.data, view),
  ],

  summary: (view) => view.data.summary("dead letter"),
};

function actionsOf(view, each) {
  const named = `${each.job_type} ${each.id}`;
  return [
    button("Redrive…", () => redrive(view, each), { label: `Redrive ${named}` }),
    // A list has no payloads.
    button("Edit…", async () => editAndRedrive(view, await get(`/api/dead-letters/${encodeURIComponent(each.id)}`)), { label: `Edit and redrive ${named}` }),
    button("Discard…", () => discard(view, each), { danger: true, label: `Discard ${named}` }),
  ];
}
