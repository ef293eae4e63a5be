// What failed for good and waits for somebody.

import { get } from "../api.js";
import { button, discard, redrive } from "../actions.js";
import { h, patch } from "../dom.js";
import { jobLink } from "../links.js";
import { further, Listing, table } from "../tables.js";
import { when } from "../times.js";
import { bulkRedrive } from "./bulk_redrive.js";
import { asked, filterForm } from "./filters.js";

export const deadLetters = {
  name: "dead-letters",
  title: () => "Dead letters",

  controls: (view) => button("Redrive all that match…", () => bulkRedrive(view, asked(view))),

  async load(view, signal) {
    if (!view.state.form) await prepare(view, signal);
    if (view.state.asked !== view.query) {
      view.state.asked = view.query;
      view.state.listing = new Listing("/api/dead-letters", asked(view));
    }
    await view.state.listing.load(signal);
    return view.state.listing;
  },

  render: (view) => [
    table({
      caption: "Open dead letters, the newest first", items: view.data.items, key: (letter) => letter.id,
      empty: view.query ? "No open dead letter matches this filter." : "No dead letter is open. All is well.",
      columns: [
        ["Job", (letter) => jobLink(letter.id)],
        ["Type", (letter) => letter.job_type],
        ["Failed", (letter) => when(letter.failed_at)],
        ["Attempts", (letter) => letter.attempts, { class: "number" }],
        ["Error", (letter) => h("span", { class: "clip", title: letter.failure_reason }, h("code", null, letter.error_code), " ", letter.failure_reason), { class: "wide" }],
        ["Actions", (letter) => h("div", { class: "choices start" },
          button("Redrive…", () => redrive(view, letter), { label: `Redrive ${letter.job_type} ${letter.id}` }),
          button("Discard…", () => discard(view, letter), { danger: true, label: `Discard ${letter.job_type} ${letter.id}` }))],
      ],
    }),
    further(view.data, view),
  ],

  told: (view) => view.data.told("dead letter"),
};

async function prepare(view, signal) {
  const { types } = await get("/api/control", null, signal);
  view.state.form = filterForm(view, "Filter dead letters", [
    { name: "job_type", label: "Type", type: "select", options: Object.keys(types) },
    { name: "failed_from", label: "Failed from", type: "time" },
    { name: "failed_to", label: "Failed before", type: "time" },
  ]);
  patch(view.body, []);
  view.body.before(view.state.form);
}
