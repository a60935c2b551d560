"use strict";
// What is folded away on the screen is printed all the same.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) {
    details.open = true;
    details.dataset.folded = "";
  }
});
addEventListener("afterprint", () => {
  for (const details of document.querySelectorAll("details[data-folded]")) {
    details.open = false;
    delete details.dataset.folded;
  }
});

// Bring every widget of a name to life: `start(stage, data, host)` builds into the empty element `stage`.
// The fallback hides once that is done; if it fails, the fallback stays and the console says why.
function widget(name, start) {
  for (const host of document.querySelectorAll(`[data-widget="${name}"]`)) {
    const stage = document.createElement("div");
    stage.className = "stage";
    host.append(stage);
    try {
      start(stage, JSON.parse(host.querySelector("script").textContent), host);
      host.classList.add("live");
    } catch (error) {
      stage.remove();
      console.error(error);
    }
  }
}
