// Questions before actions. A dialog keeps the focus in itself and gives it back; Escape leaves everything as it is.

import { h, patch } from "./dom.js";

let number = 0;

// fields: [{name, label, type, options, value, required, hint, list, min, shownIf}], or {name, field} for one that has its
// own `node`, `read()` and maybe `changed(values)`. `run` gets their values, and its error is shown in the dialog, which
// then stays. Resolves to what `run` returned, or to null if nothing was done.
export function ask({ title, text, fields = [], confirm, danger = false, watch, run }) {
  number += 1;
  const id = `dialog-${number}`;
  return new Promise((resolve) => {
    let result = null;
    const error = h("p", { role: "alert", class: "error" });
    const accept = h("button", { type: "submit", class: danger ? "danger" : "primary" }, confirm);
    const places = fields.map((each) => ({ ...each, node: each.field?.node ?? labelled(each, id) }));
    const form = h("form", { onsubmit: submitted, oninput: changed },
      h("h2", { id }, title),
      text ? h("p", { id: `${id}-text` }, text) : null,
      places.map(({ node }) => node),
      error,
      h("div", { class: "choices" },
        h("button", { type: "button", onclick: () => dialog.close() }, "Leave it"), accept));
    const dialog = h("dialog", { "aria-labelledby": id, "aria-describedby": text ? `${id}-text` : null }, form);

    function values() {
      return Object.fromEntries(places.filter(({ name, field, node }) => !field && !node.hidden && form.elements[name])
        .map(({ name, type }) => [name, type === "checkbox" ? form.elements[name].checked : form.elements[name].value.trim()]));
    }

    function changed() {
      const now = values();
      for (const { node, shownIf } of places.filter((each) => each.shownIf)) {
        node.hidden = !shownIf(now);
        for (const each of node.querySelectorAll("input, select, textarea")) each.disabled = node.hidden;
      }
      const shown = values();
      for (const { field } of places) field?.changed?.(shown);
      watch?.(shown);
    }

    async function submitted(event) {
      event.preventDefault();
      accept.disabled = true;
      patch(error, []);
      try {
        const read = places.filter(({ field }) => field?.read).map(({ name, field }) => [name, field.read()]);
        result = await run({ ...values(), ...Object.fromEntries(read) });
        dialog.close();
      } catch (problem) {
        patch(error, [problem.message]);
        error.scrollIntoView({ block: "nearest" });
        accept.disabled = false;
      }
    }

    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    document.body.append(dialog);
    changed();
    dialog.showModal();
  });
}

// A question that every action asks: why. Whether it must be answered is the deployment's setting: see haltBanner.
export const REASON = {
  name: "reason",
  label: "Reason",
  type: "textarea",
  required: false,
  maxlength: 250,
  hint: "It is recorded in the audit trail, with who you are.",
};

export function labelled(field, prefix) {
  const id = `${prefix}-${field.name}`;
  if (field.type === "checkbox") {
    return h("div", { class: "field" }, h("label", { class: "check" }, h("input", { id, name: field.name, type: "checkbox", checked: field.value }), field.label));
  }
  return h("div", { class: "field" },
    h("label", { for: id }, field.label, field.isOptional ?? !field.required ? h("span", { class: "quiet" }, " (optional)") : null),
    input(field, id),
    field.hint ? h("p", { class: "quiet", id: `${id}-hint` }, field.hint) : null,
    field.list ? h("datalist", { id: `${id}-list` }, field.list.map((each) => h("option", { value: each }))) : null);
}

function input({ name, type = "text", options, value, required, maxlength, hint, list, min, placeholder, rows = 3 }, id) {
  const common = { id, name, required, maxlength, placeholder, "aria-describedby": hint ? `${id}-hint` : null };
  if (type === "select") {
    return h("select", common, options.map(([each, text]) =>
      h("option", { value: each, selected: each === value }, text)));
  }
  if (type === "textarea") return h("textarea", { ...common, rows, spellcheck: "false" }, value ?? "");
  return h("input", { ...common, type, value, min, step: type === "number" ? "any" : null, list: list ? `${id}-list` : null, autocomplete: "off" });
}
