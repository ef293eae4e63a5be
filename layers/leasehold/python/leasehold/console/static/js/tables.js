// Tables, and the pages of listings.

import { get } from "./api.js";
import { h } from "./dom.js";
import { jsonText } from "./payload_field.js";
import { when } from "./times.js";
import { many } from "./words.js";

// A text that may be long: two lines of it in a list, the rest on hovering over it.
export function clip(text, tag = "span") {
  return text ? h(tag, { class: "clip", title: text }, text) : "";
}

// rows: [name, value]; what is unset is left out.
export function facts(rows) {
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "")
    .map(([name, value]) => h("div", { "data-key": name }, h("dt", null, name), h("dd", null, value))));
}

export function section(title, ...children) {
  const id = title.toLowerCase().replaceAll(" ", "-");
  return h("section", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

export function json(title, value) {
  return section(title, h("pre", { tabindex: 0, role: "group", "aria-label": title }, jsonText(value)));
}

// columns: [heading, (item) => cell, {class}]; the first cell of a row is its heading.
export function table({ caption, columns, items, key, empty }) {
  if (!items.length) return h("p", { class: "empty" }, empty ?? "There is nothing here.");
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", null,
      h("caption", { class: "unseen" }, caption),
      h("thead", null, h("tr", null, columns.map(([name, , more]) =>
        h("th", { scope: "col", class: more?.class }, more?.unseen ? h("span", { class: "unseen" }, name) : name)))),
      h("tbody", null, items.map((item) => h("tr", { "data-key": key(item) }, columns.map(([name, cell, more], index) =>
        h(index ? "td" : "th", { scope: index ? null : "row", "data-label": name, class: more?.class }, cell(item))))))));
}

// One listing, page by page. While only its first page is shown, updates read it again.
export class Listing {
  constructor(path, query, limit = 50) {
    Object.assign(this, { path, query, limit, items: [], unreadable: [], cursor: null, searched: 0, pages: 0 });
  }

  async load(signal) {
    if (this.pages > 1) return;
    const page = await get(this.path, { ...this.query, limit: this.limit }, signal);
    // Meanwhile somebody may have asked for more: what they see stays.
    if (this.pages <= 1) this.take(page);
  }

  async more() {
    const from = this.cursor;
    const page = await get(this.path, { ...this.query, limit: this.limit, cursor: from });
    if (from !== this.cursor) return;
    const before = this.items;
    const unreadable = this.unreadable;
    const searched = this.searched;
    this.take(page);
    this.pages += 1;
    this.items = [...before, ...page.items];
    this.unreadable = [...unreadable, ...this.unreadable];
    this.searched += searched;
  }

  take(page) {
    Object.assign(this, { items: page.items, cursor: page.cursor ?? null, reached: page.reached ?? null });
    this.unreadable = page.unreadable ?? [];
    this.searched = page.searched ?? page.items.length;
    this.pages = Math.max(this.pages, 1);
  }

  // What is found so far, in words.
  summary(one, several) {
    return `${many(this.items.length, one, several)} shown${this.cursor ? ", there may be more" : ""}`;
  }
}

// A page of a search may be short or empty though there is more: say how far it came, and offer to go on.
export function further(listing, view) {
  if (!listing.pages) return null;
  const shown = listing.items.length;
  const until = listing.reached ? [", back to ", when(listing.reached)] : null;
  const looked = listing.searched.toLocaleString("en");
  return h("div", { class: "further" },
    listing.unreadable.length
      ? h("div", { class: "notice", role: "status" },
          h("p", null, many(listing.unreadable.length, "entry", "entries"), " cannot be read, and can be repaired in the table:"),
          h("ul", null, listing.unreadable.map((each) => h("li", null, h("code", null, each.key), ` ${each.problem}`))))
      : null,
    h("p", { class: "quiet" },
      shown || !listing.cursor ? `${shown.toLocaleString("en")} shown.` : [`Nothing found among the first ${looked}`, until, "."],
      shown && listing.searched > shown ? [` ${looked} were looked at to find ${shown === 1 ? "it" : "them"}`, until, "."] : null,
      listing.pages > 1 ? " Updates are off while older pages are shown." : null),
    listing.cursor
      ? h("button", { type: "button", onclick: () => view.during(() => listing.more(), "more was loaded") },
          shown ? "Show more" : "Go on searching")
      : null);
}
