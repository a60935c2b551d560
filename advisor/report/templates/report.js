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

// Copy a line: by the clipboard where the browser lets a page of a file have it, else by selecting it.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const line = document.getElementById(button.dataset.copy);
  const select = () => getSelection().selectAllChildren(line);
  const says = (done) => {
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  const byHand = () => {
    select();
    says(document.execCommand("copy"));
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    if (!navigator.clipboard) return byHand();
    navigator.clipboard.writeText(line.textContent).then(() => says(true), byHand);
  });
}

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
