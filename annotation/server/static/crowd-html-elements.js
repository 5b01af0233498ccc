// Stand-in for the elements of the same names that templates made for Mechanical Turk load:
// crowd-form, -input, -text-area, -radio-group, -radio-button, -checkbox, -button, -instructions,
// -classifier. Plain form controls inside; answers are posted as the originals posted them.
(() => {
  "use strict";
  const make = (tag, attributes = {}, ...inside) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    element.append(...inside);
    return element;
  };
  const define = (name, connect) => customElements.define(name, class extends HTMLElement {
    connectedCallback() {
      if (this.ready) return;
      this.ready = true;
      // The parser calls this before the element's children are there.
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => connect(this), { once: true });
      else queueMicrotask(() => connect(this));
    }
  });
  const hidden = (host, value) => {
    let field = host.querySelector(":scope > input[type=hidden].value");
    if (!field) host.append(field = make("input", { type: "hidden", class: "value", name: host.getAttribute("name") || "" }));
    field.value = value;
  };
  const labelled = (host, control) => {
    const words = host.getAttribute("label") || host.getAttribute("placeholder") || host.getAttribute("name") || "";
    control.setAttribute("aria-label", words);
    host.style.display = "block";
    host.append(make("label", {}, ...(host.getAttribute("label") ? [`${words} `] : []), control));
  };

  define("crowd-form", (host) => {
    const form = make("form", { method: "post", action: `${window.__crowd ? window.__crowd.submitTo : ""}` });
    form.append(make("input", { type: "hidden", name: "assignmentId", value: window.__crowd ? window.__crowd.assignmentId : "" }));
    form.append(...host.childNodes);
    host.append(form);
    if (!form.querySelector("crowd-button[form-action=submit], button[type=submit]")) form.append(make("button", { type: "submit" }, "Submit"));
    form.addEventListener("submit", (event) => {
      const before = new Event("submit", { cancelable: true });
      host.dispatchEvent(before);
      if (before.defaultPrevented) event.preventDefault();
    });
    host.submit = () => form.requestSubmit();
  });
  define("crowd-input", (host) => {
    labelled(host, make("input", { name: host.getAttribute("name"), type: host.getAttribute("type") || "text", placeholder: host.getAttribute("placeholder"), required: host.hasAttribute("required"), disabled: host.hasAttribute("disabled"), maxlength: host.getAttribute("max-length"), value: host.getAttribute("value") }));
    Object.defineProperty(host, "value", { get: () => host.querySelector("input").value, set: (v) => { host.querySelector("input").value = v; } });
  });
  define("crowd-text-area", (host) => {
    const area = make("textarea", { name: host.getAttribute("name"), rows: host.getAttribute("rows") || 4, placeholder: host.getAttribute("placeholder"), required: host.hasAttribute("required"), maxlength: host.getAttribute("max-length") });
    area.value = host.getAttribute("value") || "";
    labelled(host, area);
    Object.defineProperty(host, "value", { get: () => area.value, set: (v) => { area.value = v; } });
  });
  define("crowd-checkbox", (host) => {
    const box = make("input", { type: "checkbox", checked: host.hasAttribute("checked"), required: host.hasAttribute("required") });
    const words = [...host.childNodes];
    host.append(make("label", {}, box, " ", ...words));
    const tell = () => hidden(host, String(box.checked));
    box.addEventListener("change", tell);
    tell();
    Object.defineProperty(host, "checked", { get: () => box.checked, set: (v) => { box.checked = v; tell(); } });
  });
  define("crowd-radio-group", (host) => {
    host.setAttribute("role", "radiogroup");
    const group = `group-${Math.random().toString(36).slice(2)}`;
    const buttons = [...host.querySelectorAll("crowd-radio-button")];
    const radios = buttons.map((button) => {
      const radio = make("input", { type: "radio", name: group, form: "none", checked: button.hasAttribute("checked") });
      button.ready = true;
      button.append(make("label", {}, radio, " ", ...button.childNodes));
      return radio;
    });
    const names = buttons.map((button) => button.getAttribute("name") || "");
    const tell = () => {
      const inside = Object.fromEntries(names.map((name, i) => [name, radios[i].checked]));
      if (host.getAttribute("name")) hidden(host, JSON.stringify(inside));
      else for (const [i, button] of buttons.entries()) hidden(button, String(radios[i].checked));
    };
    host.addEventListener("change", tell);
    tell();
  });
  define("crowd-button", (host) => {
    const submits = host.getAttribute("form-action") === "submit";
    const button = make("button", { type: submits ? "submit" : host.getAttribute("form-action") === "reset" ? "reset" : "button", disabled: host.hasAttribute("disabled") }, ...host.childNodes);
    host.append(button);
  });
  const section = (host, title) => { host.style.display = "block"; if (title) host.prepend(make("h3", {}, title)); };
  define("crowd-instructions", (host) => {
    const details = make("details", {}, make("summary", {}, host.getAttribute("link-text") || "Instructions"), ...host.childNodes);
    host.append(details);
  });
  for (const [name, title] of [["short-summary", ""], ["short-instructions", "Instructions"], ["full-instructions", ""], ["detailed-instructions", "Details"], ["positive-example", "Good example"], ["negative-example", "Bad example"], ["classification-target", ""]]) {
    define(name, (host) => section(host, host.getAttribute("header") || title));
  }
  define("crowd-card", (host) => section(host, host.getAttribute("heading") || ""));
  define("crowd-classifier", (host) => {
    let categories = [];
    try { categories = JSON.parse((host.getAttribute("categories") || "[]").replace(/'/g, '"')); } catch { /* none */ }
    section(host, host.getAttribute("header") || "");
    const group = `classifier-${Math.random().toString(36).slice(2)}`;
    const field = make("fieldset", {}, make("legend", {}, host.getAttribute("header") || "Choose one"));
    for (const [i, category] of categories.entries()) {
      const radio = make("input", { type: "radio", name: group, form: "none", value: category });
      field.append(make("label", {}, radio, ` ${i + 1} ${category} `));
    }
    field.addEventListener("change", (event) => hidden(host, JSON.stringify({ label: event.target.value })));
    document.addEventListener("keydown", (event) => {
      if (event.target.matches("input, textarea")) return;
      const radio = field.querySelectorAll("input")[Number(event.key) - 1];
      if (radio) { radio.checked = true; radio.dispatchEvent(new Event("change", { bubbles: true })); }
    });
    host.append(field);
    hidden(host, JSON.stringify({ label: "" }));
  });
})();
