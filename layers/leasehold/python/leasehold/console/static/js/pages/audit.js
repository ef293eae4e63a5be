// Who did what, when and why.

import { get } from "../api.js";
import { button } from "../actions.js";
import { h } from "../dom.js";
import { targetLink } from "../links.js";
import { clip, further, table } from "../tables.js";
import { when } from "../times.js";
import { sentence } from "../words.js";
import { filtered } from "./filters.js";

export const audit = {
  name: "audit",
  title: () => "Audit trail",

  load: (view, signal) => {
    if (view.state.asked !== view.query) view.state.verdict = null;
    return filtered(view, signal, {
      path: "/api/audit", label: "Filter the audit trail",
      fields: async () => [{ name: "target", label: "Target, e.g. job#… or schedule#…", type: "text" }],
    });
  },

  render: (view) => [
    h("div", { class: "choices start" }, button(target(view) ? "Verify this trail" : "Verify all trails", () => verify(view)), view.state.verdict),
    table({
      caption: "Audit records, the newest first", items: view.data.items, key: (each) => `${each.target} ${each.id}`,
      empty: view.query ? "Nothing was done to this target." : "Nothing was done yet.",
      columns: [
        ["When", (each) => when(each.at)],
        ["Who", (each) => h("span", { class: "clip", title: each.by }, who(each.by))],
        ["Action", (each) => sentence(each.action)],
        ["Target", (each) => targetLink(each.target)],
        ["Reason", (each) => clip(each.reason), { class: "wide" }],
        ["Details", (each) => clip(text(each.details), "code"), { class: "wide" }],
      ],
    }),
    further(view.data, view),
  ],

  summary: (view) => view.data.summary("record"),
};

const target = (view) => new URLSearchParams(view.query).get("target");

// Whether the chains of entries are as they were written, from the first to the last, and the daily roots too.
async function verify(view) {
  await view.during(async () => {
    const one = target(view);
    const { flaws, checked, roots } = await get("/audit-check.json", one ? { target: one } : {});
    const all = [...flaws, ...(roots?.flaws ?? [])];
    view.state.verdict = all.length
      ? h("p", { class: "error" }, `This trail was tampered with: ${all.join("; ")}.`)
      : h("p", null, `${one ? "The trail is whole" : `All ${checked} trails are whole`}: no entry was changed, removed or added. ${vouched(roots)}`);
  });
  view.say(view.state.verdict?.textContent ?? "");
}

// What is said about the roots, which are kept outside of the table.
function vouched(roots) {
  if (!roots) return "No daily roots are kept that could vouch for it.";
  if (roots.unreadable) return `The daily roots in ${roots.from} could not be read: ${roots.unreadable}`;
  return `${roots.kept} daily roots in ${roots.from} vouch for it.`;
}

// Of an ARN, what people know: the role or user, and the session.
function who(by) {
  return by.startsWith("arn:") ? by.split(":").slice(5).join(":") : by;
}

function text(details) {
  return typeof details === "string" ? details : JSON.stringify(details ?? {});
}
