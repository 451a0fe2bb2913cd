// Finishes the pages of a site. Replaces their TeX by formulas, and writes the style sheet of these; without one they are
// MathML. Mends the markup for the keyboard, for screen readers and for slow lines, and marks long lines of code.
// node maths.js MATHJAX SITE [STYLE]; a formula that MathJax cannot read ends the program and is named with its page.
// A page that is not written again is finished again, which changes nothing in it.
"use strict";
const fs = require("fs");
const path = require("path");

const [mathjax, site, style] = process.argv.slice(2);
const FORMULA = /<(span|div)( class="math notranslate nohighlight"[^>]*)>\s*\\[([]([^<]*)\\[)\]]\s*<\/\1>/g;
const CODE = /(?<=<pre>)[^]*?(?=<\/pre>)/g, LINE = /.+\n?/g, COLUMNS = 96, FURTHER = 4;
const DRAWING = /<img [^>]*?src="([^"]+\.svg)"[^>]*>/g;
const MENDED = [
  [/role="doc-biblioentry"/g, 'role="listitem"'],  // deprecated, inside a list
  [/class="pst-scrollable-table-container">/g, 'class="pst-scrollable-table-container" tabindex="0">'],
  // A line does not begin with the comma behind a formula.
  [/<span class="math notranslate nohighlight">[^<]*<\/span>[,.;:?!)”’]+/g, '<span class="joined">$&</span>'],
  [/style="width: (\d+)px;"/g, 'width="$1" style="--drawn: $1px"'],  // it may shrink
  [/style="width: (\d+)px; height: (\d+)px;"/g, 'width="$1" height="$2" style="--drawn: $1px"'],
];
const CHARACTERS = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'", "&amp;": "&" };

function markLong(line) {
  const words = line.replace(/<[^>]*>/g, "").replace(/&[a-z#0-9]+;/g, "x").trimEnd();
  if (words.length <= COLUMNS || line.includes('class="long"')) return line;
  const indent = words.length - words.trimStart().length + FURTHER;
  return `<span class="long" style="--indent: ${indent}ch">${line}</span>`;
}

// A drawing has the size that it is drawn at, in pixels, so that a page does not jump when it is loaded.
function size(page, tag, source) {
  const file = path.join(path.dirname(page), decodeURI(source));
  if (/ width=/.test(tag) || !fs.existsSync(file)) return tag;
  const begin = fs.readFileSync(file, "utf8").slice(0, 2000);
  const points = ["width", "height"].map((side) => begin.match(new RegExp(`\\b${side}="([\\d.]+)pt"`))?.[1] * 4 / 3);
  const box = begin.match(/viewBox="\S+ \S+ (\S+) (\S+)"/)?.slice(1).map(Number);
  const [width, height] = (points[1] ? points : box ?? points).map(Math.round);
  return width && height ? tag.replace("<img ", `<img width="${width}" height="${height}" style="--drawn: ${width}px" `) : tag;
}

global.MathJax = {
  loader: {
    paths: { mathjax },
    load: ["adaptors/liteDOM", "input/tex-full", "output/chtml", "a11y/assistive-mml"],
    require,
  },
  startup: { typeset: false },
  tex: {
    packages: { "[-]": ["noerrors", "noundefined"] },  // they would print what cannot be read, in red
    formatError: (_, fault) => { throw fault; },
  },
  chtml: { fontURL: ".", adaptiveCSS: false },  // all characters: a page that is not built again may have any
};
require(path.join(mathjax, "startup.js"));

MathJax.startup.promise.then(() => {
  const { adaptor } = MathJax.startup;
  const formulas = new Map();
  const set = (tex, display) => {
    const key = `${display} ${tex}`;
    if (!formulas.has(key)) {
      const plain = tex.replace(/&[a-z#0-9]+;/g, (name) => CHARACTERS[name] ?? name);
      formulas.set(key, style ? adaptor.outerHTML(MathJax.tex2chtml(plain, { display })) : MathJax.tex2mml(plain, { display }));
    }
    return formulas.get(key);
  };
  for (const name of fs.readdirSync(site, { recursive: true }).filter((file) => /\.x?html$/.test(file))) {
    const page = path.join(site, name);
    const text = fs.readFileSync(page, "utf8");
    try {
      const done = MENDED.reduce((body, [written, mended]) => body.replace(written, mended), text)
        .replace(DRAWING, (tag, source) => size(page, tag, source))
        .replace(FORMULA, (_, tag, rest, tex) => `<${tag}${rest}>${set(tex, tag === "div")}</${tag}>`)
        .replace(CODE, (code) => code.replace(LINE, markLong));
      if (done !== text) fs.writeFileSync(page, done);
    } catch (fault) {
      throw new Error(`${name}: ${fault.message}`);
    }
  }
  if (style) fs.writeFileSync(style, adaptor.textContent(MathJax.chtmlStylesheet()));
}).catch((fault) => {
  console.error(fault.message);
  process.exit(1);
});
