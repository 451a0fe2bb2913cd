// Replaces the TeX in the pages of a site by formulas, and writes their style sheet; without one they are MathML.
// node maths.js MATHJAX SITE [STYLE]; a formula that MathJax cannot read ends the program and is named with its page.
"use strict";
const fs = require("fs");
const path = require("path");

const [mathjax, site, style] = process.argv.slice(2);
const FORMULA = /<(span|div)( class="math notranslate nohighlight"[^>]*)>\s*\\[([]([^<]*)\\[)\]]\s*<\/\1>/g;
const CHARACTERS = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&#x27;": "'", "&amp;": "&" };

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
      const done = text.replace(FORMULA, (_, tag, rest, tex) => `<${tag}${rest}>${set(tex, tag === "div")}</${tag}>`);
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
