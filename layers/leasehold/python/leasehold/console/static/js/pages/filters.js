// Filters of listings: a form whose values are the page's address, and whose changes take effect while one types.

import { queryText } from "../api.js";
import { h, patch } from "../dom.js";
import { Listing } from "../tables.js";
import { toLocal, toUtc } from "../times.js";

const PAUSE_MILLIS = 300;
// As in layout.css: below, the filter is folded away until somebody wants it.
const WIDE = window.matchMedia("(min-width: 60rem)");

// fields: [{name, label, type: text|select|time|checks, options, isMore}]
export function filterForm(view, label, fields) {
  const given = new URLSearchParams(view.query);
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => view.ask(queryText(values(form, fields))), PAUSE_MILLIS);
  };
  const [shown, more] = [fields.filter((each) => !each.isMore), fields.filter((each) => each.isMore)];
  const form = h("form", { class: "filter", role: "search", "aria-label": label, oninput: changed, onsubmit: (event) => event.preventDefault() },
    shown.map((field, index) => labelled(field, given, index === 0)),
    more.length
      ? h("details", { open: more.some(({ name }) => given.has(name)) }, h("summary", null, "More filters"),
          h("div", { class: "filter" }, more.map((field) => labelled(field, given, false))))
      : null,
    h("button", { type: "button", onclick: () => clear(form, changed) }, "Clear"));
  const fold = h("details", { class: "fold", open: WIDE.matches }, h("summary", null, "Filter"), form);
  WIDE.addEventListener("change", () => (fold.open = WIDE.matches));
  return fold;
}

// A page that is a filter and a listing: the form is made once, and the listing anew for each filter.
export async function filtered(view, signal, { path, label, fields }) {
  if (!view.state.form) {
    view.state.form = filterForm(view, label, await fields(signal));
    patch(view.body, []);
    view.body.before(view.state.form);
  }
  if (view.state.asked !== view.query) {
    view.state.asked = view.query;
    view.state.listing = new Listing(path, asked(view));
  }
  await view.state.listing.load(signal);
  return view.state.listing;
}

// The query of an address as parameters for the API.
export function asked(view) {
  const query = {};
  for (const [name, value] of new URLSearchParams(view.query)) (query[name] ??= []).push(value);
  return query;
}

function clear(form, changed) {
  for (const each of form.elements) {
    if (each.type === "checkbox") each.checked = false;
    else each.value = "";
  }
  changed();
}

function values(form, fields) {
  const data = new FormData(form);
  return Object.fromEntries(fields.map(({ name, type }) =>
    [name, data.getAll(name).map((each) => (type === "time" ? toUtc(each) : each.trim())).filter(Boolean)]));
}

function labelled(field, given, isFirst) {
  const { name, label, type } = field;
  const id = `filter-${name}`;
  if (type === "checks") {
    return h("fieldset", { class: "checks" }, h("legend", null, label), field.options.map(([value, text]) =>
      h("label", { class: "check" },
        h("input", { type: "checkbox", name, value, checked: given.getAll(name).includes(value) }), text)));
  }
  return h("div", { class: "field" }, h("label", { for: id }, label), input(field, id, given.get(name) ?? "", isFirst));
}

function input({ name, type, options }, id, value, isFirst) {
  const common = { id, name, "data-filter": isFirst, autocomplete: "off" };
  if (type === "select") {
    const known = options.includes(value) || !value ? options : [...options, value];
    return h("select", common, h("option", { value: "" }, "All"), known.map((each) => h("option", { value: each, selected: each === value }, each)));
  }
  if (type === "time") return h("input", { ...common, type: "datetime-local", value: toLocal(value) });
  return h("input", { ...common, type: "text", value, spellcheck: "false" });
}
