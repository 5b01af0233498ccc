// Refresh the requester's numbers every few seconds, without losing place or focus.
async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = document.getElementById("live");
    const next = fresh.getElementById("live");
    if (next && next.innerHTML !== now.innerHTML && !now.contains(document.activeElement)) {
      now.replaceWith(next);
    }
  } catch { /* the server is away: the numbers stay as they are until it is back */ }
}
setInterval(refresh, 5000);
