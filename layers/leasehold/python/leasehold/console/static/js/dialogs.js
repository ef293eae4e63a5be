// Questions before actions. A dialog keeps the focus in itself and gives it back; Escape leaves everything as it is.

import { h, patch } from "./dom.js";

let number = 0;

// fields: [{name, label, type, options, value, required, hint}]; `run` gets their values, and its error is shown
// in the dialog, which then stays. Resolves to what `run` returned, or to null if nothing was done.
export function ask({ title, text, fields = [], confirm, danger = false, run }) {
  number += 1;
  const id = `dialog-${number}`;
  return new Promise((resolve) => {
    let result = null;
    const error = h("p", { role: "alert", class: "error" });
    const accept = h("button", { type: "submit", class: danger ? "danger" : "primary" }, confirm);
    const form = h("form", { onsubmit: submitted },
      h("h2", { id }, title),
      text ? h("p", { id: `${id}-text` }, text) : null,
      fields.map((field) => labelled(field, id)),
      error,
      h("div", { class: "choices" },
        h("button", { type: "button", onclick: () => dialog.close() }, "Leave it"), accept));
    const dialog = h("dialog", { "aria-labelledby": id, "aria-describedby": text ? `${id}-text` : null }, form);

    async function submitted(event) {
      event.preventDefault();
      accept.disabled = true;
      patch(error, []);
      try {
        result = await run(Object.fromEntries(new FormData(form)));
        dialog.close();
      } catch (problem) {
        patch(error, [problem.message]);
        accept.disabled = false;
      }
    }

    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// A question that every action asks: why.
export const REASON = {
  name: "reason",
  label: "Reason",
  type: "textarea",
  required: true,
  maxlength: 250,
  hint: "It is recorded in the audit trail, with who you are.",
};

function labelled(field, prefix) {
  const id = `${prefix}-${field.name}`;
  return h("div", { class: "field" },
    h("label", { for: id }, field.label, field.required ? null : h("span", { class: "quiet" }, " (optional)")),
    input(field, id),
    field.hint ? h("p", { class: "quiet", id: `${id}-hint` }, field.hint) : null);
}

function input({ name, type = "text", options, value, required, maxlength, hint }, id) {
  const common = { id, name, required, maxlength, "aria-describedby": hint ? `${id}-hint` : null };
  if (type === "select") {
    return h("select", common, options.map(([each, text]) =>
      h("option", { value: each, selected: each === value }, text)));
  }
  if (type === "textarea") return h("textarea", { ...common, rows: 3 }, value ?? "");
  return h("input", { ...common, type, value });
}
