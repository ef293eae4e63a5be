// A payload in a dialog: a form where its type has a schema, and JSON for everything else.

import { get, parseJson } from "./api.js";
import { labelled } from "./dialogs.js";
import { h, patch } from "./dom.js";

let number = 0;

// type: of the job, where it does not change; else `changed` finds it among the dialog's values.
// isPartial: something else brings the fields that are left out, e.g. a template.
export class PayloadField {
  constructor({ value = {}, type, label = "Payload", hint, isPartial = false }) {
    number += 1;
    Object.assign(this, { value, label, hint, isPartial, id: `payload-${number}`, schema: null, controls: null, type: undefined, kept: {} });
    this.node = h("fieldset", { class: "payload" });
    this.drawJson(value);
    if (type) this.changed({ job_type: type });
  }

  async changed({ job_type: type, template }) {
    if (template) this.isPartial = true;
    if (!type || type === this.type) return;
    this.type = type;
    const schema = await schemaOf(type);
    if (type !== this.type) return;
    this.schema = schema;
    this.show(this.current() ?? this.value, true);
  }

  // What is in the field now; null while that is not JSON.
  current() {
    try {
      return this.read();
    } catch {
      return null;
    }
  }

  read() {
    if (this.controls) {
      return { ...this.kept, ...Object.fromEntries(this.controls.map((each) => [each.name, each.read()]).filter(([, value]) => value !== undefined)) };
    }
    const text = this.text.value.trim();
    try {
      return text ? parseJson(text) : {};
    } catch (error) {
      throw new Error(`The payload is not JSON: ${error.message}`);
    }
  }

  show(value, asForm) {
    const controls = asForm ? this.controlsFor(value) : null;
    if (!controls) {
      this.drawJson(value);
      return;
    }
    const names = controls.map(({ name }) => name);
    this.kept = Object.fromEntries(Object.entries(value ?? {}).filter(([name]) => !names.includes(name)));
    const others = Object.keys(this.kept);
    this.controls = controls;
    patch(this.node, []);
    this.node.append(h("legend", null, this.label), ...controls.map(({ node }) => node));
    if (others.length) this.node.append(h("p", { class: "quiet" }, `Not in the form, and kept: ${others.join(", ")}.`));
    this.node.append(this.toggle("Edit as JSON", false));
  }

  drawJson(value) {
    this.controls = null;
    const id = `${this.id}-json`;
    this.text = h("textarea", { id, rows: Math.min(14, Math.max(4, jsonText(value).split("\n").length)), spellcheck: "false", "aria-describedby": `${id}-hint` }, jsonText(value));
    patch(this.node, []);
    this.node.append(h("label", { for: id }, this.label), this.text,
      h("p", { class: "quiet", id: `${id}-hint` }, this.hint ?? "A JSON object."));
    if (this.controlsFor(value)) this.node.append(this.toggle("Edit as a form", true));
  }

  controlsFor(value) {
    return controlsFor(this.schema, value, this.id, this.isPartial ? [] : (this.schema?.required ?? []));
  }

  toggle(text, asForm) {
    return h("button", { type: "button", onclick: () => {
      const now = this.current();
      if (now === null) return;
      this.show(now, asForm);
      this.node.querySelector("input, select, textarea")?.focus();
    } }, text);
  }
}

const known = new Map();

async function schemaOf(type) {
  if (!known.has(type)) {
    known.set(type, get(`/api/control/types/${encodeURIComponent(type)}/payload-schema`).then((found) => found.payload_schema ?? null, () => null));
  }
  return known.get(type);
}

export const jsonText = (value) => JSON.stringify(value === undefined ? {} : value, null, 2);

// One control for each property; null where the schema is no object's, or the value does not fit into the form.
function controlsFor(schema, value, prefix, required) {
  if (!schema?.properties || typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const controls = Object.entries(schema.properties).map(([name, property]) =>
    control({ name, property: resolved(property, schema), value: value[name], required: required.includes(name) }, prefix));
  return controls.length && controls.every(Boolean) ? controls : null;
}

// References followed, and "or null" taken off.
function resolved(property, schema) {
  const merged = property.$ref ? { ...schema.$defs?.[property.$ref.split("/").pop()], ...property, $ref: undefined } : property;
  const ways = (merged.anyOf ?? merged.oneOf ?? merged.allOf)?.filter((each) => each.type !== "null");
  if (ways?.length === 1) return { ...resolved(ways[0], schema), title: merged.title, description: merged.description, default: merged.default };
  return merged;
}

function control({ name, property, value, required }, prefix) {
  const kind = kindOf(property);
  if (value !== undefined && value !== null && !kind.fits(value)) return null;
  const hint = [property.description, kind.hint, property.default !== undefined && property.default !== null && `Left empty: ${JSON.stringify(property.default)}`].filter(Boolean).join(" ");
  const shown = value === undefined || value === null ? "" : kind.text(value);
  const options = kind.options && [...(required && shown ? [] : [["", ""]]), ...kind.options];
  const node = labelled({ name, label: property.title ?? name, type: kind.type, options, value: shown, required: required && kind.isNeeded, isOptional: !required, hint: hint || null, rows: 3 }, prefix);
  const input = node.querySelector("input, select, textarea");
  input.removeAttribute("name");
  return { name, node, read: () => (input.value === "" ? (value === null ? null : kind.empty?.(required)) : kind.value(input.value, name)) };
}

function kindOf(property) {
  const choices = property.enum ?? (property.const !== undefined ? [property.const] : null);
  if (choices) return { type: "select", isNeeded: true, options: choices.map((each) => [JSON.stringify(each), String(each)]), fits: (value) => choices.includes(value), text: JSON.stringify, value: parseJson };
  if (property.type === "boolean") return { type: "select", isNeeded: true, options: [["true", "yes"], ["false", "no"]], fits: (value) => typeof value === "boolean", text: String, value: parseJson };
  if (property.type === "integer" || property.type === "number") return { type: "number", isNeeded: true, fits: (value) => typeof value === "number", text: String, value: Number };
  // A text that must be there may be empty.
  if (property.type === "string") return { type: "text", fits: (value) => typeof value === "string", text: String, value: String, empty: (required) => (required ? "" : undefined), hint: FORMATS[property.format] };
  return { type: "textarea", isNeeded: true, fits: () => true, text: (value) => JSON.stringify(value, null, 2), hint: "JSON.", value: (text, name) => {
    try {
      return parseJson(text);
    } catch (error) {
      throw new Error(`payload.${name} is not JSON: ${error.message}`);
    }
  } };
}

const FORMATS = { "date-time": "A time, e.g. 2026-11-18T09:30:00Z.", date: "A date, e.g. 2026-11-18.", email: "An e-mail address.", uri: "An address, e.g. https://example.com/." };
