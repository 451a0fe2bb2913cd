// Replaces the TeX in the pages of a site by formulas, and writes their style sheet; without one they are MathML. Marks
// the lines of code that are longer than a page is wide, with the place where they may go on.
// node maths.js MATHJAX SITE [STYLE]; a formula that MathJax cannot read ends the program and is named with its page.
"use strict";
const fs = require("fs");
const path = require("path");

const [mathjax, site, style] = process.argv.slice(2);
const FORMULA = /<(span|div)( class="math notranslate nohighlight"[^>]*)>\s*\\[([]([^<]*)\\[)\]]\s*<\/\1>/g;
const CODE = /(?<=<pre>)[^]*?(?=<\/pre>)/g, LINE = /.+\n?/g, COLUMNS = 96, FURTHER = 4;
const CHARACTERS = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'", "&amp;": "&" };

// A line may be marked already: a page that is not written again is read again.
function markLong(line) {
  const words = line.replace(/<[^>]*>/g, "").replace(/&[a-z#0-9]+;/g, "x").trimEnd();
  if (words.length <= COLUMNS || line.includes('class="long"')) return line;
  const indent = words.length - words.trimStart().length + FURTHER;
  return `<span class="long" style="--indent: ${indent}ch">${line}</span>`;
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
      const done = text
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
