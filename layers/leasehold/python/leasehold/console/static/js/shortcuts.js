// Keys. Single letters do nothing while somebody types, or while a dialog is open.

import { h } from "./dom.js";

export function listen(pages, acts) {
  let isGoing = false;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const page = isGoing ? pages.find((each) => each.key === event.key) : null;
    isGoing = event.key === "g";
    if (page) location.hash = `#/${page.name}`;
    else if (event.key === "/") focusFilter();
    else if (event.key === "?") showHelp(pages);
    else if (event.key === "r") acts.refresh();
    else if (event.key === "p") acts.pause();
    else return;
    event.preventDefault();
  });
}

function isTyping(target) {
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function focusFilter() {
  const field = document.querySelector("[data-filter]");
  field?.closest("details.fold")?.setAttribute("open", "");
  field?.focus();
}

export function showHelp(pages) {
  const keys = [["/", "Go to the filter"], ["r", "Refresh"], ["p", "Pause or resume updates"], ["?", "This list"],
    ["Escape", "Leave a dialog"], ...pages.filter(({ key }) => key).map(({ key, label }) => [`g ${key}`, `Go to: ${label}`])];
  const dialog = h("dialog", { "aria-labelledby": "shortcuts" },
    h("h2", { id: "shortcuts" }, "Keyboard shortcuts"),
    h("dl", { class: "keys" }, keys.map(([key, what]) =>
      [h("dt", null, key.split(" ").map((each) => h("kbd", null, each))), h("dd", null, what)])),
    h("div", { class: "choices" }, h("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
