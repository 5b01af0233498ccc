// Inside a task's frame: tell the page around it that the answer arrived.
const place = document.getElementById("submitted");
if (window.parent !== window && place) {
  window.parent.postMessage({ type: "submitted", assignmentId: place.dataset.assignment }, "*");
}
