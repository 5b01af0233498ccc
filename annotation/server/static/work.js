// The page around a task: time left, drafts, and a submit that survives a lost connection.
"use strict";
const frame = document.getElementById("task");
const assignment = frame.dataset.assignment;
const csrf = document.querySelector('meta[name="csrf-token"]').content;
const saved = document.getElementById("saved");
const trouble = document.getElementById("trouble");
const pendingKey = `pending:${assignment}`;
let sending = false;
let finished = false;

function pixels(height) {
  frame.style.minHeight = "0";
  frame.style.flex = "none";
  frame.style.height = `${Math.max(300, Math.min(height, 20000))}px`;
}
if (Number(frame.dataset.height) > 0) frame.style.minHeight = `${frame.dataset.height}px`;

window.addEventListener("message", (event) => {
  if (event.source !== frame.contentWindow || typeof event.data !== "object" || !event.data) return;
  const { type } = event.data;
  if (type === "height" && Number.isFinite(event.data.px)) pixels(event.data.px);
  if (!assignment) return;
  if (type === "draft") saveDraft(event.data.draft);
  if (type === "submit" && Array.isArray(event.data.fields)) start(event.data.fields);
  if (type === "submitted") arrived();
});

async function saveDraft(draft) {
  try {
    const answer = await fetch(`/work/${assignment}/draft`, {
      method: "POST", body: JSON.stringify(draft),
      headers: { "X-CSRF-Token": csrf, "Content-Type": "application/json" },
    });
    saved.textContent = answer.ok ? "saved" : "not saved yet";
  } catch { saved.textContent = "no connection: not saved yet"; }
}

function start(fields) {
  try { localStorage.setItem(pendingKey, JSON.stringify(fields)); } catch { /* private window */ }
  if (!sending) send(fields, 0);
}

async function send(fields, attempt) {
  sending = true;
  saved.textContent = "sending …";
  const body = new URLSearchParams(fields.map(([name, value]) => [String(name), String(value)]));
  body.set("assignmentId", assignment);
  try {
    const answer = await fetch("/mturk/externalSubmit", { method: "POST", body, headers: { Accept: "application/json" } });
    if (answer.ok) return arrived();
    if (answer.status < 500) return refused(await answer.json());
  } catch { /* no connection: try again below */ }
  trouble.hidden = false;
  trouble.textContent = "No connection. Your answer is kept here and is sent as soon as the connection is back. Leave this page open.";
  setTimeout(() => send(fields, attempt + 1), Math.min(1000 * 2 ** attempt, 10000));
}

function arrived() {
  finished = true;
  try { localStorage.removeItem(pendingKey); } catch { /* private window */ }
  location.assign(`/work/${assignment}`);
}

function refused(answer) {
  sending = false;
  finished = true;
  try { localStorage.removeItem(pendingKey); } catch { /* private window */ }
  trouble.hidden = false;
  trouble.textContent = answer.error;
}

window.addEventListener("beforeunload", (event) => { if (sending && !finished) event.preventDefault(); });
if (assignment) {
  let waiting = null;
  try { waiting = localStorage.getItem(pendingKey); } catch { /* private window */ }
  if (waiting) send(JSON.parse(waiting), 0);
}
if (document.getElementById("left")) countDown();

function countDown() {
  const left = document.getElementById("left");
  const skew = Number(left.dataset.now) - Date.now();
  const tick = () => {
    const seconds = Math.max(0, Math.round((Number(left.dataset.deadline) - Date.now() - skew) / 1000));
    const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
    left.textContent = h > 0 ? `${h}:${String(m).padStart(2, "0")}:${String(s).padStart(2, "0")}` : `${m}:${String(s).padStart(2, "0")}`;
    left.classList.toggle("soon", seconds < 120);
    if (seconds === 0 && !sending && !finished) location.reload();
    else setTimeout(tick, 1000);
  };
  if (Number(left.dataset.deadline) - Number(left.dataset.now) < 2 ** 31) tick();
}
