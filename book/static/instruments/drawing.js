// What several instruments draw with: elements of a picture, a slider with its value, and numbers in few digits.
(() => {
  "use strict";
  const instruments = window.instruments;
  const { make } = instruments;

  // An element of an SVG picture, as instruments.make makes one of a page.
  instruments.svg = (tag, attributes = {}, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(name, value);
      else if (value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.flat().filter((one) => one !== null && one !== undefined));
    return made;
  };

  // A picture that fills the width of its place, in units of pixels up to `most`. `draw(width)` gives its elements, and
  // says what it shows; it is drawn again when its place becomes wider or narrower.
  instruments.picture = ({ height, most = 760, draw }) => {
    const place = make("div", { class: "instrument-picture" });
    const wide = () => Math.max(280, Math.min(most, place.clientWidth || most));
    let drawn = 0;
    const show = () => {
      drawn = wide();
      const { said, parts } = draw(drawn);
      place.replaceChildren(instruments.svg("svg", { width: drawn, height, viewBox: `0 0 ${drawn} ${height}`, role: "img", "aria-label": said }, ...parts));
    };
    new ResizeObserver(() => { if (wide() !== drawn) show(); }).observe(place);
    return { place, show };
  };

  // A slider with its label and value. `said` puts a value into words; `changed` is called with each new value.
  instruments.slider = ({ label, min, max, step, value, said = String, changed }) => {
    const shown = make("output", { class: "number" });
    const input = make("input", { type: "range", min, max, step, value, input: () => { say(); changed(Number(input.value)); } });
    const say = () => { shown.textContent = said(Number(input.value)); input.setAttribute("aria-valuetext", shown.textContent); };
    const set = (number) => { input.value = number; say(); };
    say();
    return { field: make("label", { class: "instrument-field" }, make("span", {}, label), input, shown), input, set };
  };

  const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

  // A number in at most `count` digits, as 0.012, −3 or 4.5·10⁻⁷.
  instruments.digits = (number, count = 3) => {
    const size = Math.abs(number);
    if (size && (size < 1e-3 || size >= 1e5)) {
      const [front, power] = String(Number(number.toPrecision(count)).toExponential()).split("e");
      const raised = [...String(Math.abs(power))].map((digit) => RAISED[digit]).join("");
      const factor = front === "1" ? "" : `${front.replace("-", "−")}·`;
      return `${factor}10${power < 0 ? "⁻" : ""}${raised}`;
    }
    return String(Number(number.toPrecision(count))).replace("-", "−");
  };
})();
