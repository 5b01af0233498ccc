// Stand-in for the script of the same name that pages made for Mechanical Turk load: the same
// global functions, so that such pages work here unchanged.
function turkGetParam(name, defaultValue) {
  var value = new URLSearchParams(window.location.search).get(name);
  return value === null ? (defaultValue === undefined ? "" : defaultValue) : value;
}
function turkGetSubmitToHost() {
  return turkGetParam("turkSubmitTo", "https://www.mturk.com");
}
function turkSetAssignmentID(id) {
  var assignmentId = id || turkGetParam("assignmentId", "");
  var field = document.getElementById("assignmentId");
  if (field) field.value = assignmentId;
  if (assignmentId === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    var button = document.getElementById("submitButton");
    if (button) { button.disabled = true; button.value = "You must ACCEPT the HIT before you can submit the results."; }
  }
  var form = document.getElementById("mturk_form");
  if (form && !form.getAttribute("action")) form.action = turkGetSubmitToHost() + "/mturk/externalSubmit";
}
