"use strict";
(() => {
const $ = (q, from = document) => from.querySelector(q);
const $$ = (q, from = document) => [...from.querySelectorAll(q)];
const form = $("#form");
const address = new URLSearchParams(location.search);
const assignment = address.get("assignmentId") || (window.__crowd || {}).assignmentId || "";
const preview = assignment === "ASSIGNMENT_ID_NOT_AVAILABLE";
const task = document.body.dataset.task;
const rules = JSON.parse($("#rules").textContent);
const items = $$(".item");
const questions = $$(".question");
let at = 0;
let current = null;
let tried = false;
document.documentElement.classList.add("js");
$("[name=assignmentId]").value = preview ? "" : assignment;
if (address.get("turkSubmitTo") && !window.__crowd) form.action = address.get("turkSubmitTo").replace(/\/+$/, "") + "/mturk/externalSubmit";
if (preview) { $("#all").disabled = true; $("#preview").hidden = false; }

// Guides stay as the worker left them.
for (const box of $$("details")) {
  try { const was = localStorage.getItem(`guide:${task}:${box.id}`); if (was) box.open = was === "open"; } catch { /* no storage */ }
  box.addEventListener("toggle", () => { try { localStorage.setItem(`guide:${task}:${box.id}`, box.open ? "open" : "closed"); } catch { /* no storage */ } });
}

// Telemetry that the page tells about: active seconds, pastes, keys.
const field = (index, name) => $(`[name="${index}.${name}"]`);
const add = (index, name, count) => { const f = field(index, name); if (f) f.value = String(Number(f.value) + count); };
const placeOf = (node) => { const item = node && node.closest && node.closest(".item"); return item ? Number(item.dataset.at) : at; };
let lastSign = 0;
for (const kind of ["pointermove", "pointerdown", "keydown", "scroll", "input"]) addEventListener(kind, () => { lastSign = Date.now(); }, { passive: true, capture: true });
setInterval(() => { if (!document.hidden && Date.now() - lastSign < 30000) add(at, "seconds", 1); }, 1000);
addEventListener("keydown", (e) => { if (!e.repeat) add(placeOf(e.target), "keystrokes", 1); }, true);
addEventListener("paste", (e) => { const i = placeOf(e.target); add(i, "pastes", 1); add(i, "pasted_chars", (e.clipboardData ? e.clipboardData.getData("text") : "").length); }, true);
addEventListener("pointerdown", (e) => { at = placeOf(e.target); }, true);
addEventListener("focusin", (e) => { at = placeOf(e.target); const q = e.target.closest && e.target.closest(".question"); if (q) mark(q); });

// Zoom: both photos of a pair in step.
const move = (pair, x, y) => { pair.dataset.x = x = Math.max(0, Math.min(100, x)); pair.dataset.y = y = Math.max(0, Math.min(100, y)); pair.style.setProperty("--x", `${x}%`); pair.style.setProperty("--y", `${y}%`); };
function zoom(pair, x = 50, y = 50) { if (pair.classList.toggle("zoomed")) move(pair, x, y); }
for (const frame of $$(".frame")) {
  const pair = frame.closest(".pair");
  const spot = (e) => { const b = frame.getBoundingClientRect(); return [(e.clientX - b.left) / b.width * 100, (e.clientY - b.top) / b.height * 100]; };
  frame.addEventListener("click", (e) => zoom(pair, ...spot(e)));
  frame.addEventListener("pointermove", (e) => { if (pair.classList.contains("zoomed")) move(pair, ...spot(e)); });
}
for (const img of $$(".frame img")) {
  const lost = () => { const p = document.createElement("p"); p.className = "lost"; p.textContent = "This photo did not load. Reload the page, or return the task without penalty."; img.replaceWith(p); };
  img.addEventListener("error", lost);
  if (img.complete && img.naturalWidth === 0 && img.loading !== "lazy") lost();
}

// Questions: which are answered, which comes next.
const area = (q) => $("textarea", q);
const answered = (q) => area(q) ? area(q).value.trim() !== "" : !!$("input[type=radio]:checked", q);
function mark(q) { if (current) current.classList.remove("now"); current = q; if (q) { q.classList.add("now"); at = placeOf(q); } }
function go(q) { mark(q); const f = area(q) || $("input[type=radio]:checked", q) || $("input", q); if (!area(q)) f.focus({ preventScroll: true }); q.closest(".item").scrollIntoView({ block: "nearest" }); q.scrollIntoView({ block: "nearest" }); }
function step(by) { const i = questions.indexOf(current); const next = questions[Math.max(0, Math.min(questions.length - 1, i < 0 ? 0 : i + by))]; if (next) go(next); }
function show() {
  for (const q of questions) {
    const why = $(".why", q);
    if (why) { const on = ($("input[type=radio]:checked", q) || {}).value === why.dataset.when; why.classList.toggle("on", on); if (!on) for (const c of $$("input", why)) c.checked = false; }
    q.classList.toggle("wanted", tried && !answered(q));
  }
  const left = questions.filter((q) => !answered(q)).length;
  $("#missing").textContent = left ? `${questions.length - left} of ${questions.length} answered` : "All answered. You can submit.";
}
form.addEventListener("change", show);
form.addEventListener("input", (e) => { if (rules && e.target.matches("textarea")) check(e.target); show(); });

// Live checks: the same rules as the audit's; they explain and never block.
function check(text) {
  let line = text.value.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();
  const words = line ? line.split(" ").length : 0;
  for (const [pattern, word] of rules.spellings) line = line.replace(new RegExp(pattern, "giu"), word);
  const found = [];
  for (const need of rules.required) found.push([line.includes(need.word), need.message, "need"]);
  found.push([words >= rules.min_words, `Write at least ${rules.min_words} words (${words} so far).`, "need"]);
  for (const rule of rules.rules) { const hit = line.match(new RegExp(rule.pattern, "iu")); if (hit) found.push([false, `“${hit[0]}”: ${rule.message}`, "hint"]); }
  const list = document.getElementById(text.getAttribute("aria-describedby"));
  const html = found.map(([ok, message, kind]) => { const li = document.createElement("li"); li.className = ok ? "ok" : kind; li.textContent = message; return li; });
  if (list.textContent !== html.map((li) => li.textContent).join("") || html.some((li, i) => list.children[i] && list.children[i].className !== li.className)) list.replaceChildren(...html);
}
if (rules) for (const text of $$("textarea")) check(text);

// Keys.
function send() { form.requestSubmit($("#send")); }
addEventListener("keydown", (e) => {
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); return send(); }
  if (e.target.matches("textarea")) { if (e.key === "Escape") { e.target.blur(); } return; }
  if (e.ctrlKey || e.metaKey || e.altKey || preview) return;
  const pair = current ? $(".pair", current.closest(".item")) : $(".pair");
  if (pair.classList.contains("zoomed") && e.key.startsWith("Arrow")) {
    const by = { ArrowLeft: [-8, 0], ArrowRight: [8, 0], ArrowUp: [0, -8], ArrowDown: [0, 8] }[e.key];
    move(pair, Number(pair.dataset.x) + by[0], Number(pair.dataset.y) + by[1]);
    return e.preventDefault();
  }
  const key = e.key.toLowerCase();
  if (key === "z") return zoom(pair);
  if (key === "escape") return pair.classList.remove("zoomed");
  if (e.key === "?") { const box = $("#about"); box.open = !box.open; if (box.open) $("summary", box).focus(); return; }
  if (key === "j") return step(1);
  if (key === "k") return step(-1);
  if (key === "e" && $("textarea")) { e.preventDefault(); return area(current && area(current) ? current : questions.find(area)).focus(); }
  if (!current) mark(questions.find((q) => !answered(q)) || questions[0]);
  const radios = $$("input[type=radio]", current);
  const choice = radios[Number(key) - 1];
  if (choice) {
    e.preventDefault();
    choice.checked = true;
    choice.dispatchEvent(new Event("change", { bubbles: true }));
    const why = $(".why.on", current);
    const next = questions[questions.indexOf(current) + 1];
    if (!why && next) go(next); else if (!next) $("#send").focus({ preventScroll: false });
    return;
  }
  const box = $(`.why.on input[data-key="${key}"]`, current);
  if (box) { e.preventDefault(); box.checked = !box.checked; box.dispatchEvent(new Event("change", { bubbles: true })); }
});

// Submit once, complete.
let sent = false;
form.addEventListener("submit", (e) => {
  tried = true;
  show();
  const open = questions.find((q) => q.hasAttribute("data-required") && !answered(q));
  if (preview || open) {
    e.preventDefault();
    if (open) { $("#missing").textContent = "Answer what is marked, then submit."; go(open); if (area(open)) area(open).focus(); }
    return;
  }
  if (sent) { e.preventDefault(); return; }
  sent = true;
  setTimeout(() => { sent = false; }, 4000);
});
show();
})();
