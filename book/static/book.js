// What the pages do beyond being read: figures open large, and wide tables say that they go on.

// A figure opens at full size in a dialog: by a click on it, or by its button, which the keyboard reaches.
function enlargeFigures() {
  const figures = [...document.querySelectorAll(".bd-article figure")].filter((one) => one.querySelector("img:not(a img)"));
  if (!figures.length) return;
  const dialog = document.createElement("dialog");
  dialog.className = "enlarged";
  dialog.innerHTML = '<form method="dialog"><button aria-label="Close the figure">×</button></form><div tabindex="0"></div>';
  document.body.append(dialog);
  const place = dialog.querySelector("div");
  // A click on the ground beside the picture closes it as well.
  dialog.addEventListener("click", (event) => event.target.tagName === "IMG" || dialog.close());
  for (const figure of figures) {
    const picture = figure.querySelector("img");
    const open = () => {
      const large = picture.cloneNode();
      large.loading = "eager";
      large.className = figure.classList.contains("photo") ? "photo" : "drawing";
      place.setAttribute("aria-label", "the figure; it scrolls where it is wider than the screen");
      place.setAttribute("role", "group");
      place.replaceChildren(large);
      dialog.setAttribute("aria-label", figure.querySelector("figcaption")?.innerText.slice(0, 120) || "figure");
      dialog.showModal();
    };
    const button = document.createElement("button");
    button.className = "enlarge";
    button.textContent = "⤢";
    button.setAttribute("aria-label", "Enlarge the figure");
    button.addEventListener("click", open);
    picture.addEventListener("click", open);
    const frame = document.createElement("div");
    frame.className = "figure-frame";
    picture.replaceWith(frame);
    frame.append(picture);
    frame.after(button);
    watchWidth(frame);
  }
}

// A box that scrolls sideways is marked while there is more to its right, and can be reached by the keyboard.
function watchWidth(box) {
  const mark = () => {
    const wide = box.scrollWidth > box.clientWidth + 1;
    box.classList.toggle("goes-on", wide && box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    if (wide) box.tabIndex = 0;
  };
  box.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(box);
  for (const child of box.children) new ResizeObserver(mark).observe(child);
}

// Paper shows the pictures that the screen has not come to.
addEventListener("beforeprint", () => {
  for (const picture of document.querySelectorAll("img[loading=lazy]")) picture.loading = "eager";
});

document.addEventListener("DOMContentLoaded", () => {
  enlargeFigures();
  document.querySelectorAll(".bd-article .pst-scrollable-table-container").forEach(watchWidth);
});
