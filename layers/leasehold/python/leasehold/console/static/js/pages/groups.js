// Jobs that belong together, and how far they are.

import { get } from "../api.js";
import { act, button } from "../actions.js";
import { h } from "../dom.js";
import { auditLink, jobLink, to } from "../links.js";
import { further, Listing, table } from "../tables.js";
import { when } from "../times.js";
import { badge, many } from "../words.js";
import { jobColumns } from "./jobs.js";

const ENDS = ["completed", "failed", "cancelled", "skipped"];
const MODES = { sequential: "one after the other", parallel: "all at once" };
const FAILURES = { stop: "it stops", continue: "it goes on", skip_remaining: "the rest is skipped" };
const TONES = { completed: "completed", failed: "dead_letter", cancelled: "cancelled", skipped: "pending" };

export const groups = {
  name: "groups",
  title: () => "Groups",

  async load(view, signal) {
    view.state.listing ??= new Listing("/api/groups", {});
    await view.state.listing.load(signal);
    return view.state.listing;
  },

  render: (view) => [
    table({
      caption: "Groups, the newest first", items: view.data.items, key: (each) => each.group_id,
      empty: "There are no groups. Programs make them, with queue.groups.create.",
      columns: [
        ["Group", (each) => h("a", { href: to("groups", each.group_id), class: "clip", title: each.group_id }, each.group_id)],
        ["State", (each) => badge(each.state)],
        ["Progress", (each) => progress(each), { class: "wide" }],
        ["Runs", (each) => MODES[each.mode]],
        ["Created", (each) => when(each.created_at)],
        ["Ended", (each) => when(each.ended_at)],
      ],
    }),
    further(view.data, view),
  ],
};

export const group = {
  name: "groups",
  title: ({ params }) => `Group ${params.id}`,

  async load(view, signal) {
    const path = `/api/groups/${encodeURIComponent(view.params.id)}`;
    view.state.listing ??= new Listing(`${path}/members`, {});
    const [found] = await Promise.all([get(path, null, signal), view.state.listing.load(signal)]);
    return found;
  },

  render: (view) => {
    const { data, state } = view;
    const members = [["Member", (job) => jobLink(job.job_id, `#${job.member}`)], ...jobColumns().filter(([name]) => !["Job", "Belongs to"].includes(name))];
    return [
      h("div", { class: "summary" }, badge(data.state), progress(data)),
      h("p", null, `Runs ${MODES[data.mode]}; after a failure ${FAILURES[data.on_failure]}. Created `,
        when(data.created_at), ` by ${data.created_by}. `, auditLink(`group#${data.group_id}`),
        data.callback_job_id ? [". Callback: ", jobLink(data.callback_job_id)] : null),
      data.ended_at ? null : h("div", { class: "choices start", role: "group", "aria-label": "Actions" },
        button("Cancel the group…", () => act(view, {
          path: `/api/groups/${encodeURIComponent(data.group_id)}/cancel`, title: "Cancel this group?", danger: true,
          confirm: "Cancel the group", text: "Members that wait are cancelled, those that run are asked to stop.",
          done: "The group is being cancelled.",
        }), { danger: true })),
      h("h2", null, "Members"),
      table({ caption: "Members, from the last", items: state.listing.items, key: (job) => job.job_id, columns: members, empty: "It has no members yet." }),
      further(state.listing, view),
    ];
  },
};

function progress(each) {
  const done = ENDS.reduce((sum, name) => sum + (each[name] ?? 0), 0);
  const ends = ENDS.filter((name) => each[name]).map((name) => `${each[name]} ${name}`).join(", ");
  return h("div", { class: "progress" },
    h("meter", { min: 0, max: Math.max(each.total, 1), value: done, class: TONES[each.failed ? "failed" : "completed"] }, `${done} of ${each.total}`),
    h("span", { class: "quiet" }, `${done} of ${many(each.total, "job")}${ends ? `: ${ends}` : ""}`));
}
