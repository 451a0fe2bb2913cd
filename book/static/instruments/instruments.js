// Finds the instruments of a page, and loads one when a reader wants it: by the button, or by scrolling to it.
//
// An instrument NAME is two scripts beside this one: NAME.data.js, made by the press, sets instruments.data.NAME, and
// NAME.js sets instruments.NAME, a function that is given the element to fill and the data, and instruments.NAME_core,
// its mathematics. An instrument with `styled` has a separate style sheet, NAME.css, and one with `needs` further scripts
// of this folder, which are loaded before it is put into its place. These are classic scripts, so that a page works that
// is opened as a file.
(() => {
  "use strict";
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const version = document.currentScript.dataset.version ? `?v=${document.currentScript.dataset.version}` : "";
  const sizes = JSON.parse(document.currentScript.dataset.kilobytes || "{}");
  const instruments = (window.instruments = window.instruments || {});
  instruments.data = instruments.data || {};
  const asked = {};

  // A script or a style sheet of this folder, once.
  function file(name) {
    asked[name] = asked[name] || new Promise((resolve, reject) => {
      const tag = document.createElement(name.endsWith(".css") ? "link" : "script");
      if (name.endsWith(".css")) Object.assign(tag, { rel: "stylesheet", href: here + name + version });
      else tag.src = here + name + version;
      tag.onload = resolve;
      tag.onerror = () => reject(new Error(`${name} cannot be loaded`));
      document.head.append(tag);
    });
    return asked[name];
  }

  // Scripts of this folder that an instrument borrows from another.
  instruments.borrow = (...names) => names.reduce((before, name) => before.then(() => file(name)), Promise.resolve());

  // Load an instrument and put it into its place; a second call is the first.
  instruments.load = (place) => {
    const name = place.dataset.instrument;
    place.loading = place.loading || Promise.resolve()
      .then(() => (place.dataset.weights ? file(`${name}.data.js`) : null))
      .then(() => file(`${name}.js`))
      .then(() => (instruments[name].styled ? file(`${name}.css`) : null))
      .then(() => instruments.borrow(...(instruments[name].needs || [])))
      .then(() => {
        const room = instruments.make("div", { class: "instrument-room" });
        place.replaceChildren(room);
        place.classList.add("instrument-open");
        instruments[name](room, instruments.data[name]);
        place.dataset.ready = "yes";
      })
      .catch((error) => {
        place.replaceChildren(instruments.make("p", { role: "alert" }, `The instrument could not be opened: ${error.message}.`));
      });
    return place.loading;
  };

  // Characters that nobody sees, apart from the space and the tab.
  const INVISIBLE = /[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]/;

  // The lines of a program that say anything, without comments, and their numbers from 1: as attention_theory.listings.
  instruments.programLines = (text) => text.split(/\r\n|\r|\n/).flatMap((raw, place) => {
    const line = raw.split("#")[0];
    const hidden = line.match(INVISIBLE);
    if (hidden) {
      const code = hidden[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
      throw new Error(`line ${place + 1}: the invisible character U+${code} is not allowed`);
    }
    return line.trim() ? [{ number: place + 1, line: line.trim() }] : [];
  });

  // An element with attributes and what is in it. An attribute that is a function listens to the event it is named for.
  instruments.make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(name, value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.flat().filter((one) => one !== null && one !== undefined));
    return made;
  };

  // A colour of the page, by the name of its variable, as red, green and blue.
  instruments.colour = (element, variable) => {
    const probe = instruments.make("span", { style: `color: var(${variable}); display: none` });
    element.append(probe);
    const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
    probe.remove();
    return found;
  };

  // Fill a canvas with squares of `scale` pixels, one for each entry; `entry(x, y)` is its red, green and blue.
  instruments.pixels = (canvas, width, height, scale, entry) => {
    const small = instruments.make("canvas", { width, height });
    const image = new ImageData(width, height);
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const [red, green, blue] = entry(x, y), place = 4 * (y * width + x);
        image.data[place] = red;
        image.data[place + 1] = green;
        image.data[place + 2] = blue;
        image.data[place + 3] = 255;
      }
    }
    small.getContext("2d").putImageData(image, 0, 0);
    canvas.width = width * scale;
    canvas.height = height * scale;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
    return context;
  };

  // A colour between two.
  instruments.mix = (one, other, share) => one.map((value, k) => Math.round(value + (other[k] - value) * share));

  // Draw again when the reader changes between light and dark.
  instruments.onTheme = (draw) => {
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  };

  // Whether the reader asks for less motion.
  instruments.calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  // What goes by itself: a button that starts and halts it, `step` after every so many milliseconds. `begin` prepares a
  // start, and refuses it by returning false; `changed` is told whether it goes.
  instruments.player = ({ word, halt = "Pause", every, step, begin = () => true, changed = () => {}, ...attributes }) => {
    let timer = null;
    const button = instruments.make("button", { type: "button", click: () => (timer ? pause() : start()), ...attributes });

    function say() {
      const sign = instruments.make("span", { "aria-hidden": "true" }, timer ? "❚❚ " : "▶ ");
      button.replaceChildren(...(halt === "Pause" ? [sign] : []), timer ? halt : word);
    }

    function start() {
      if (timer || begin() === false) return;
      timer = setInterval(() => (button.isConnected ? step() : pause()), every);
      say();
      changed(true);
    }

    function pause() {
      if (!timer) return;
      clearInterval(timer);
      timer = null;
      say();
      changed(false);
    }

    say();
    return { button, start, pause };
  };

  // The buttons that run a machine to its end: step by step before the reader's eyes, or at once, in slices between which
  // the page can be used and the run be stopped. `made` says in words how far a run at once has come; `status` tells each
  // step, and is not read out while the machine runs. Both buttons begin again once the machine is at its end.
  instruments.runner = ({ every, over, begin, step, show, made, status }) => {
    const SLICE = 12, PATIENCE = 400; // milliseconds
    const finish = instruments.player({ word: "To the end", halt: "Stop", every: 0, begin: startAtOnce, step: slice, changed: hush });
    const running = instruments.player({ word: "Run", every, begin: start, step: tick, changed: hush, class: "instrument-main" });
    let since = 0;

    function start() {
      finish.pause();
      if (over()) begin();
      if (!instruments.calm()) tick();
      else finish.start();
      return !instruments.calm() && !over();
    }

    function tick() {
      step();
      show();
      if (over()) running.pause();
    }

    function startAtOnce() {
      running.pause();
      since = performance.now();
      return !over();
    }

    function slice() {
      for (const end = performance.now() + SLICE; performance.now() < end && !over();) step();
      if (over()) finish.pause();
      else if (performance.now() - since > PATIENCE) status.textContent = `${made()} …`;
    }

    function hush(going) {
      if (going) status.setAttribute("aria-live", "off");
      else status.removeAttribute("aria-live");
      if (!going) show();
    }

    return { button: running.button, finish: finish.button, toTheEnd: finish.start, pause: () => [running, finish].forEach((each) => each.pause()) };
  };

  // What stands in the place before: the button, and what the page says there to readers without JavaScript.
  function prepare(place) {
    // The front page's picture needs nobody's wish, only a page that is done.
    if (place.dataset.now) return void addEventListener("load", () => setTimeout(() => instruments.load(place)));
    const size = sizes[place.dataset.instrument];
    const start = instruments.make("button", { type: "button", class: "instrument-start", click: () => {
      start.disabled = true;
      start.textContent = "Loading …";
      instruments.load(place).then(() => place.querySelector("button, input, select, textarea")?.focus({ preventScroll: true }));
    } }, `${place.dataset.start || "Load the instrument"}${size ? ` (${size} kB)` : ""}`);
    place.prepend(instruments.make("p", { class: "instrument-door" }, start));
    if (!("IntersectionObserver" in window)) return;
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((one) => one.isIntersecting)) return;
      seen.disconnect();
      instruments.load(place);
    }, { threshold: 0.2 });
    addEventListener("scroll", () => seen.observe(place), { once: true, passive: true });
  }

  const ready = () => document.querySelectorAll(".instrument[data-instrument]").forEach(prepare);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", ready);
  else ready();
})();
