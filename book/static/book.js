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
    // A page that is written by hand does not say how large its figure is drawn.
    const measure = () => picture.style.setProperty("--drawn", `${picture.getAttribute("width") || picture.naturalWidth}px`);
    if (picture.complete) measure();
    else picture.addEventListener("load", measure);
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
function markWidth(box) {
  const wide = box.scrollWidth > box.clientWidth + 1;
  box.classList.toggle("goes-on", wide && box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  if (wide) box.tabIndex = 0;
}

// One observer for all boxes: a page has hundreds of formulas.
const boxes = new WeakMap();
const sizes = new ResizeObserver((changes) => new Set(changes.map(({ target }) => boxes.get(target))).forEach(markWidth));

function watchWidth(box) {
  box.addEventListener("scroll", () => markWidth(box), { passive: true });
  for (const part of [box, ...box.children]) {
    boxes.set(part, box);
    sizes.observe(part);
  }
}

// The tour: its page tells the browser the stops; every stop then shows where it is, and what comes next.
const memory = {
  read: (name) => {
    try {
      return JSON.parse(localStorage.getItem(name)) || [];
    } catch {
      return []; // a browser may keep nothing
    }
  },
  write: (name, value) => {
    try {
      localStorage.setItem(name, JSON.stringify(value));
    } catch {}
  },
};

function followTour() {
  const root = new URL(document.documentElement.dataset.content_root || "./", location.href).href;
  const here = location.href.replace(/[?#].*/, "").slice(root.length);
  const links = [...document.querySelectorAll(".tour > ol > li > p > a, .tour > ol > li > a")];
  if (links.length) memory.write("tour", links.map((link) => [link.href.slice(root.length), link.textContent.trim()]));
  const stops = memory.read("tour");
  const place = stops.findIndex(([page]) => page === here);
  const seen = new Set(memory.read("tour-seen"));
  if (place >= 0) memory.write("tour-seen", [...seen.add(here)]);
  for (const link of links) {
    if (seen.has(link.href.slice(root.length))) link.insertAdjacentHTML("afterend", ' <span class="tour-seen">seen</span>');
  }
  if (place < 0) return;
  const bar = document.createElement("nav");
  bar.className = "tour-bar";
  bar.setAttribute("aria-label", "The tour");
  const link = ([page, title], words) => Object.assign(document.createElement("a"), { href: root + page, textContent: words(title) });
  if (place) bar.append(link(stops[place - 1], (title) => `← ${title}`));
  bar.append(link(["tour.html", ""], () => `The tour, stop ${place + 1} of ${stops.length}`));
  if (stops[place + 1]) bar.append(link(stops[place + 1], (title) => `${title} →`));
  document.querySelector(".bd-article").append(bar);
}

// A result of the search is followed by what its page says of itself, which the search page has loaded for all pages.
function describeResults() {
  const place = document.getElementById("search-results");
  if (!place) return;
  const describe = () => {
    for (const item of place.querySelectorAll("li:not(:has(.context))")) {
      const page = item.querySelector("a").getAttribute("href").replace(/\.html.*/, "");
      item.querySelector(":scope > span")?.remove(); // Sphinx's own words for a claim
      item.append(Object.assign(document.createElement("p"), { className: "context", textContent: searchPages[page] ?? "" }));
    }
  };
  new MutationObserver(describe).observe(place, { childList: true, subtree: true });
  describe();
}

// Paper shows the pictures that the screen has not come to.
addEventListener("beforeprint", () => {
  for (const picture of document.querySelectorAll("img[loading=lazy]")) picture.loading = "eager";
});

document.addEventListener("DOMContentLoaded", () => {
  // The theme's toggles are icons without a name.
  for (const toggle of document.querySelectorAll(".bd-sidebar-primary details > summary")) {
    toggle.setAttribute("aria-label", `pages of ${toggle.closest("li").querySelector("a").textContent.trim()}`);
  }
  enlargeFigures();
  readMaps();
  filterScoreboard();
  followTour();
  describeResults();
  document
    .querySelectorAll(".bd-article :is(.pst-scrollable-table-container, .map-frame, .sd-col .image-reference, pre, div.math, mjx-container)")
    .forEach(watchWidth);
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

// The scoreboard's filters: a choice for each of paper, kind, verdict and proof; rows that do not fit are put away. The
// choices stand in the address, so that a filtered scoreboard can be sent.
function filterScoreboard() {
  const place = document.querySelector(".scoreboard-filters");
  if (!place) return;
  const tables = [...document.querySelectorAll(".bd-article table")].filter((one) => one.querySelector("th")?.innerText.trim() === "claim");
  const rows = tables.flatMap((table) => {
    const section = table.closest("section");
    const paper = section.querySelector("h2").firstChild.textContent;
    return [...table.tBodies[0].rows].map((row) => ({
      row,
      section,
      paper,
      kind: row.cells[2].textContent.trim(),
      verdict: row.cells[3].querySelector(".verdict")?.textContent ?? "",
      proof: row.cells[4].textContent.trim(),
    }));
  });
  const wanted = new URLSearchParams(location.search);
  const choices = ["paper", "kind", "verdict", "proof"].map((name) => {
    const label = document.createElement("label");
    const choice = document.createElement("select");
    label.append(`${name} `, choice);
    choice.append(new Option("all", ""));
    for (const value of new Set(rows.map((one) => one[name]))) if (value) choice.append(new Option(value, value));
    choice.value = wanted.get(name) ?? "";
    if (choice.selectedIndex < 0) choice.value = "";
    choice.addEventListener("change", show);
    place.append(label);
    return [name, choice];
  });
  const count = document.createElement("output");
  place.append(count);
  function show() {
    const chosen = choices.filter(([, choice]) => choice.value);
    let shown = 0;
    for (const one of rows) shown += !(one.row.hidden = !chosen.every(([name, choice]) => one[name] === choice.value));
    for (const section of new Set(rows.map((one) => one.section))) {
      section.hidden = rows.every((one) => one.section !== section || one.row.hidden);
    }
    count.value = `${shown} of ${rows.length} claims`;
    const address = new URLSearchParams(chosen.map(([name, choice]) => [name, choice.value])).toString();
    history.replaceState(null, "", address ? `?${address}` : location.pathname + location.hash);
  }
  show();
}
