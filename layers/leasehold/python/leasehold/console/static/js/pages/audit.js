// Who did what, when and why.

import { get } from "../api.js";
import { button } from "../deeds.js";
import { h, patch } from "../dom.js";
import { targetLink } from "../links.js";
import { further, Listing, table } from "../tables.js";
import { when } from "../times.js";
import { sentence } from "../words.js";
import { asked, filterForm } from "./filters.js";

export const audit = {
  name: "audit",
  title: () => "Audit trail",

  async load(view, signal) {
    if (!view.state.form) prepare(view);
    if (view.state.asked !== view.query) {
      view.state.asked = view.query;
      view.state.verdict = null;
      view.state.listing = new Listing("/api/audit", asked(view));
    }
    await view.state.listing.load(signal);
    return view.state.listing;
  },

  render: (view) => [
    target(view) ? h("div", { class: "choices start" }, button("Verify this trail", () => verify(view)), view.state.verdict) : null,
    table({
      caption: "Audit records, the newest first", items: view.data.items, key: (each) => `${each.target} ${each.id}`,
      empty: view.query ? "Nothing was done to this target." : "Nothing was done yet.",
      columns: [
        ["When", (each) => when(each.at)],
        ["Who", (each) => h("span", { class: "clip", title: each.by }, who(each.by))],
        ["Action", (each) => sentence(each.action)],
        ["Target", (each) => targetLink(each.target)],
        ["Reason", (each) => each.reason, { class: "wide" }],
        ["Details", (each) => h("code", { class: "clip", title: text(each.details) }, text(each.details)), { class: "wide" }],
      ],
    }),
    further(view.data, view),
  ],

  told: (view) => view.data.told("record"),
};

const target = (view) => new URLSearchParams(view.query).get("target");

// Whether the chain of records is as it was written, from its first to its last.
async function verify(view) {
  await view.during(async () => {
    const { flaws } = await get("/audit-check.json", { target: target(view) });
    view.state.verdict = flaws.length
      ? h("p", { class: "error" }, `This trail was tampered with: ${flaws.join("; ")}.`)
      : h("p", null, "The trail is whole: no record was changed, removed or added.");
  });
  view.say(view.state.verdict?.textContent ?? "");
}

// Of an ARN, what people know: the role or user, and the session.
function who(by) {
  return by.startsWith("arn:") ? by.split(":").slice(5).join(":") : by;
}

function text(details) {
  return typeof details === "string" ? details : JSON.stringify(details ?? {});
}

function prepare(view) {
  view.state.form = filterForm(view, "Filter the audit trail", [{ name: "target", label: "Target, e.g. job#… or schedule#…", type: "text" }]);
  patch(view.body, []);
  view.body.before(view.state.form);
}
