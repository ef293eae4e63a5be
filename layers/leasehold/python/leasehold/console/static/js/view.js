// One page on display: its heading, its own controls, and a body that updates renew.

import { h, patch } from "./dom.js";

// A page has: name, title(view), load(view, signal), render(view), and maybe controls(view), every (seconds), summary(view).
export class View {
  constructor(page, { params, query, main, say, seen, changed }) {
    Object.assign(this, { page, params, query, main, say, seen, changed, state: {}, data: null, isOver: false });
    this.heading = h("h1", { tabindex: -1 }, page.title(this));
    this.problem = h("div", { role: "alert" });
    this.body = h("div", { class: "body" }, h("p", { class: "loading" }, "Loading…"));
    this.aborter = null;
  }

  // The address has changed within the page, e.g. by its filter; nothing of the page is made anew but its results.
  ask(query) {
    this.query = query;
    history.replaceState(null, "", `#/${[this.page.name, ...Object.values(this.params).map(encodeURIComponent)].join("/")}${query ? `?${query}` : ""}`);
    return this.update({ isSaid: true });
  }

  async show() {
    this.controls = h("div", { class: "controls" });
    this.main.replaceChildren(h("div", { class: "head" }, this.heading, this.controls), this.problem, this.body);
    this.main.setAttribute("aria-busy", "true");
    document.title = `${this.heading.textContent} · Leasehold console`;
    patch(this.controls, this.page.controls?.(this));
    await this.update();
    this.main.setAttribute("aria-busy", "false");
  }

  // Read and show what is there now; an update that a newer one overtook shows nothing.
  async update({ isSaid = false } = {}) {
    this.aborter?.abort();
    const aborter = (this.aborter = new AbortController());
    try {
      const data = await this.page.load(this, aborter.signal);
      if (aborter.signal.aborted || this.isOver) return false;
      this.data = data;
      this.draw();
      patch(this.problem, []);
      this.seen(true);
      if (isSaid && this.page.summary) this.say(this.page.summary(this));
      return true;
    } catch (problem) {
      if (problem.name === "AbortError" || aborter.signal.aborted || this.isOver) return false;
      this.fail(problem);
      return false;
    }
  }

  draw() {
    patch(this.body, this.page.render(this));
    patch(this.heading, this.page.title(this));
    document.title = `${this.page.title(this)} · Leasehold console`;
  }

  fail(problem) {
    patch(this.problem, [
      h("div", { class: "error banner" }, h("p", null, h("strong", null, "This could not be shown. "), problem.message),
        h("button", { type: "button", onclick: () => this.update() }, "Try again")),
    ]);
    if (this.data === null) patch(this.body, []);
    this.seen(false);
  }

  // Do something that takes a moment, then show what came of it.
  async during(work, done) {
    try {
      await work();
      this.draw();
      if (done) this.say(done);
    } catch (problem) {
      this.fail(problem);
    }
  }

  // After an action: say so, and show how things stand.
  async done(text) {
    this.say(text, true);
    await Promise.all([this.update(), this.changed()]);
  }

  leave() {
    this.isOver = true;
    this.aborter?.abort();
    this.page.leave?.(this);
  }
}
