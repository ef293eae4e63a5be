// Links to what the console shows.

import { h } from "./dom.js";
import { queryText } from "./api.js";

export function to(...path) {
  return `#/${path.map(encodeURIComponent).join("/")}`;
}

export function link(text, ...path) {
  return h("a", { href: to(...path) }, text);
}

export function jobLink(id, text) {
  return h("a", { href: to("jobs", id), class: "id", title: id }, text ?? shortId(id));
}

export function jobsLink(text, query) {
  return h("a", { href: `#/jobs?${queryText(query)}` }, text);
}

export function auditLink(target, text = "Audit trail") {
  return h("a", { href: `#/audit?${queryText({ target })}` }, text);
}

// The head of an id is its time: the tail tells ids apart.
export function shortId(id) {
  return id.length > 20 ? `…${id.slice(-12)}` : id;
}

const PAGES_OF_TARGETS = { job: "jobs", "dead-letter": "jobs", schedule: "schedules", template: "templates", group: "groups", control: "control" };

// Where the target of an audit record is shown, e.g. job#<id>.
export function targetLink(target) {
  const [kind, name] = [target.slice(0, target.indexOf("#")), target.slice(target.indexOf("#") + 1)];
  const page = PAGES_OF_TARGETS[kind];
  if (!page) return h("span", null, target);
  const path = page === "control" ? [page] : [page, name];
  return h("a", { href: to(...path), title: target }, kind, " ", h("span", { class: "id" }, shortId(name)));
}
