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
  readMaps();
  document.querySelectorAll(".bd-article :is(.pst-scrollable-table-container, .map-frame)").forEach(watchWidth);
});

// In the map of a chapter, a pointed-at statement shows what it says, and the lines that meet it stand out. What is
// shown stays while the pointer is on it and goes with Escape.
function readMaps() {
  for (const map of document.querySelectorAll(".claim-map")) {
    const card = map.querySelector(".map-card");
    let leaving;
    const hide = () => {
      card.hidden = true;
      for (const line of map.querySelectorAll(".near")) line.classList.remove("near");
    };
    const show = (node) => {
      clearTimeout(leaving);
      hide();
      const name = node.dataset.claim;
      for (const line of map.querySelectorAll("path")) {
        line.classList.toggle("near", line.dataset.from === name || line.dataset.to === name);
      }
      const item = document.getElementById(`map-${name}`);
      if (!item) return;
      const copy = item.cloneNode(true);
      for (const one of [copy, ...copy.querySelectorAll("[id]")]) one.removeAttribute("id");
      card.replaceChildren(...copy.childNodes);
      card.hidden = false;
      const [frame, box] = [map.getBoundingClientRect(), node.getBoundingClientRect()];
      card.style.top = `${box.bottom - frame.top + 6}px`;
      card.style.left = `${Math.max(0, Math.min(box.left - frame.left, frame.width - card.offsetWidth))}px`;
    };
    for (const node of map.querySelectorAll(".node")) {
      node.addEventListener("mouseenter", () => show(node));
      node.addEventListener("focus", () => show(node));
      node.addEventListener("blur", hide);
    }
    map.addEventListener("mouseover", (event) => {
      clearTimeout(leaving);
      if (!event.target.closest(".node, .map-card")) leaving = setTimeout(hide, 300);
    });
    map.addEventListener("mouseleave", () => (leaving = setTimeout(hide, 300)));
    addEventListener("keydown", (event) => event.key === "Escape" && hide());
  }
}
