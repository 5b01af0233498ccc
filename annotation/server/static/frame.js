// Put into every task page by the server: drafts that survive a reload, a submit that survives a
// lost connection, and a localStorage where the sandbox has none. Pages work without it too.
(() => {
  "use strict";
  const crowd = window.__crowd;
  const working = crowd.assignmentId !== "ASSIGNMENT_ID_NOT_AVAILABLE";
  const tell = (message) => window.parent.postMessage(message, "*");
  const draft = crowd.draft || { fields: {}, storage: {} };
  const storage = new Map(Object.entries(draft.storage || {}));
  let timer = 0;

  const skip = new Set(["hidden", "submit", "button", "file", "password", "image", "reset"]);
  const controls = () => [...document.querySelectorAll("input[name], textarea[name], select[name]")].filter((c) => !skip.has(c.type));

  function collect() {
    const fields = {};
    for (const control of controls()) {
      const values = (fields[control.name] ||= []);
      if (control.type === "radio" || control.type === "checkbox") { if (control.checked) values.push(control.value); }
      else if (control.multiple) values.push(...[...control.selectedOptions].map((o) => o.value));
      else values.push(control.value);
    }
    return fields;
  }

  function restore() {
    const seen = {};
    for (const control of controls()) {
      const values = (draft.fields || {})[control.name];
      if (!values) continue;
      if (control.type === "radio" || control.type === "checkbox") {
        if (control.checked === values.includes(control.value)) continue;
        control.checked = values.includes(control.value);
      } else if (control.multiple) {
        for (const option of control.options) option.selected = values.includes(option.value);
      } else {
        const at = (seen[control.name] = (seen[control.name] ?? -1) + 1);
        if (values[at] === undefined || values[at] === control.value) continue;
        control.value = values[at];
      }
      control.dispatchEvent(new Event("input", { bubbles: true }));
      control.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }

  function save() {
    if (!working) return;
    clearTimeout(timer);
    timer = setTimeout(() => tell({ type: "draft", draft: { fields: collect(), storage: Object.fromEntries(storage) } }), 700);
  }

  function replaceStorage() {
    try { window.localStorage.getItem("x"); return; } catch { /* the sandbox has none */ }
    const fake = {
      getItem: (k) => (storage.has(String(k)) ? storage.get(String(k)) : null),
      setItem: (k, v) => { storage.set(String(k), String(v)); save(); },
      removeItem: (k) => { storage.delete(String(k)); save(); },
      clear: () => { storage.clear(); save(); },
      key: (i) => [...storage.keys()][i] ?? null,
      get length() { return storage.size; },
    };
    for (const name of ["localStorage", "sessionStorage"]) {
      try { Object.defineProperty(window, name, { value: fake, configurable: true }); } catch { /* leave it */ }
    }
  }

  const isSubmit = (form) => /\/mturk\/externalSubmit(\?|$)/.test(form.getAttribute("action") || "");

  function handOver(form, submitter) {
    if (!working) return;
    const data = new FormData(form, submitter || undefined);
    const fields = [...data.entries()].filter(([, value]) => typeof value === "string");
    if (window.parent === window) return nativeSubmit.call(form);
    tell({ type: "submit", fields });
  }

  const nativeSubmit = HTMLFormElement.prototype.submit;
  HTMLFormElement.prototype.submit = function () {
    if (isSubmit(this)) handOver(this, null); else nativeSubmit.call(this);
  };
  window.addEventListener("submit", (event) => {
    if (event.defaultPrevented || !isSubmit(event.target)) return;
    event.preventDefault();
    handOver(event.target, event.submitter);
  });

  replaceStorage();
  document.addEventListener("DOMContentLoaded", () => {
    for (const input of document.querySelectorAll('input[name="assignmentId"]')) {
      if (!input.value) input.value = crowd.assignmentId;
    }
    setTimeout(restore, 0); // after the page's own set-up has made its controls
    document.addEventListener("input", save);
    document.addEventListener("change", save);
    const measure = () => tell({ type: "height", px: document.documentElement.getBoundingClientRect().height });
    new ResizeObserver(measure).observe(document.documentElement);
    measure();
  });
})();
