// A button for what is ticked can be pressed once something is. Without this script, the next page says that nothing was.
"use strict";

for (const button of document.querySelectorAll("button[data-ticked]")) {
  const boxes = [...button.form.querySelectorAll("[type=checkbox]")];
  const look = () => (button.disabled = !boxes.some((box) => box.checked));
  button.form.addEventListener("change", look);
  window.addEventListener("pageshow", look);
}
