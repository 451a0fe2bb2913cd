// Python's text as a tree, with the names of nodes that Python's own module `ast` has, and the tree as text again.
// What is no Python is refused in the words of CPython 3.11 for the common faults, and as "invalid syntax" otherwise.
window.instruments.python_tokens = (() => {
  "use strict";

  // The text cannot be compiled: the message begins with its line.
  class CompileError extends Error {}
  const refuseAt = (line, reason) => { throw new CompileError(`line ${line}: ${reason}`); };

  const NAME = /[\p{XID_Start}_](?:(?![\u200c\u200d])\p{XID_Continue})*/uy;
  const NUMBER = /0[xX](?:_?[\da-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:\d(?:_?\d)*)?\.\d(?:_?\d)*(?:[eE][+-]?\d(?:_?\d)*)?[jJ]?|\d(?:_?\d)*\.?(?:[eE][+-]?\d(?:_?\d)*)?[jJ]?/y;
  const STRING = /(|[uU]|[bBfF]?[rR]?|[rR][bBfF])("""|'''|"|')/y;
  const OPERATOR = /\*\*=|\/\/=|>>=|<<=|\.\.\.|!=|->|:=|[+\-*/%&|^@=<>]=|\*\*|\/\/|<<|>>|[+\-*/%&|^@=<>()[\]{},:.;~]/y;
  const CLOSES = { ")": "(", "]": "[", "}": "{" };
  const MOST_LEVELS = 100, MOST_PARENTHESES = 200;

  const at = (pattern, text, place) => {
    pattern.lastIndex = place;
    return pattern.exec(text);
  };

  // Tokens {type, text, line, level}; the last is "end", or "error" with what is wrong.
  function tokens(source) {
    const text = source.replace(/\r\n?/g, "\n").replace(/\n?$/, "\n");
    const out = [], open = [], indents = [[0, 0]];
    let place = 0, line = 1, fresh = true;
    const put = (type, word) => out.push({ type, text: word, line, level: open.length });
    const wrong = (reason, where = line) => {
      out.push({ type: "error", text: reason, line: where, level: 0 });
      return { tokens: out, open };
    };
    while (place < text.length) {
      if (fresh) {
        fresh = false;
        let [wide, narrow] = [0, 0];
        for (; " \t\f".includes(text[place]); place += 1) {
          if (text[place] === "\f") [wide, narrow] = [0, 0];
          else [wide, narrow] = [text[place] === "\t" ? 8 * Math.floor(wide / 8) + 8 : wide + 1, narrow + 1];
        }
        if ("#\n".includes(text[place])) { // a line without a statement
          place = text.indexOf("\n", place) + 1;
          [line, fresh] = [line + 1, true];
          continue;
        }
        const [top, other] = indents[indents.length - 1];
        const mixed = "inconsistent use of tabs and spaces in indentation";
        if (wide === top && narrow !== other) return wrong(mixed);
        if (wide > top) {
          if (narrow <= other) return wrong(mixed);
          if (indents.length >= MOST_LEVELS) return wrong("too many levels of indentation");
          indents.push([wide, narrow]);
          put("indent", "");
        }
        for (; wide < indents[indents.length - 1][0]; put("dedent", "")) indents.pop();
        if (wide !== indents[indents.length - 1][0]) return wrong("unindent does not match any outer indentation level");
        if (narrow !== indents[indents.length - 1][1]) return wrong(mixed);
      }
      const sign = text[place];
      let found;
      if (sign === "\n") {
        if (!open.length) [fresh] = [true, put("newline", "\n")];
        [place, line] = [place + 1, line + 1];
      } else if (" \t\f".includes(sign)) place += 1;
      else if (sign === "#") place = text.indexOf("\n", place);
      else if (sign === "\\") {
        if (text[place + 1] !== "\n") return wrong("unexpected character after line continuation character");
        [place, line] = [place + 2, line + 1];
        if (place >= text.length) return wrong("unexpected EOF while parsing", line - 1);
      } else if ((found = at(STRING, text, place))) {
        const [start, quote] = [line, found[2]];
        let end = place + found[0].length;
        for (; end < text.length && !text.startsWith(quote, end); end += 1) {
          if (text[end] === "\\") end += 1;
          else if (text[end] === "\n" && quote.length === 1) break;
          if (text[end] === "\n") line += 1;
        }
        const closed = text.startsWith(quote, end);
        if (!closed && quote.length === 1) return wrong(`unterminated string literal (detected at line ${line})`, start);
        if (!closed) return wrong(`unterminated triple-quoted string literal (detected at line ${line - 1})`, start);
        out.push({ type: "string", text: text.slice(place + found[0].length, end), prefix: found[1].toLowerCase(), line: start, level: open.length });
        place = end + quote.length;
      } else if ((found = at(NAME, text, place))) {
        put("name", found[0].normalize("NFKC"));
        place += found[0].length;
      } else if ((found = at(NUMBER, text, place))) {
        place += found[0].length;
        const rest = at(/[\p{XID_Continue}]+/uy, text, place), based = at(/0([xob])/iy, text, place - found[0].length);
        const kind = based ? { x: "hexadecimal", o: "octal", b: "binary" }[based[1].toLowerCase()] : "decimal";
        const digit = rest && at(/[_\d]*(\d)/y, text, place);
        if (based && (digit || (found[0] === "0" && at(/0[ob]\d/iy, text, place - 1)))) return wrong(`invalid digit '${(digit ?? at(/.(\d)/y, text, place))[1]}' in ${kind} literal`);
        if (rest && !/^(and|else|for|if|in|is|not|or)/.test(rest[0])) return wrong(/[jJ]$/.test(found[0]) ? "invalid imaginary literal" : `invalid ${kind} literal`);
        if (/^0[\d_]*[1-9][\d_]*$/.test(found[0])) return wrong("leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers");
        put("number", found[0]);
      } else if ((found = at(OPERATOR, text, place))) {
        place += found[0].length;
        if ("([{".includes(found[0])) {
          if (open.length >= MOST_PARENTHESES) return wrong("too many nested parentheses");
          put("operator", found[0]);
          open.push({ sign: found[0], line });
        } else if (found[0] in CLOSES) {
          const last = open.pop();
          if (!last) return wrong(`unmatched '${found[0]}'`);
          if (last.sign !== CLOSES[found[0]]) {
            const where = last.line === line ? "" : ` on line ${last.line}`;
            return wrong(`closing parenthesis '${found[0]}' does not match opening parenthesis '${last.sign}'${where}`);
          }
          put("operator", found[0]);
        } else put("operator", found[0]);
      } else {
        const strange = String.fromCodePoint(text.codePointAt(place));
        const code = `U+${strange.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
        if (/[\p{C}\p{Z}]/u.test(strange)) return wrong(`invalid non-printable character ${code}`);
        return wrong("$?!`".includes(strange) ? "invalid syntax" : `invalid character '${strange}' (${code})`);
      }
    }
    if (open.length) {
      const last = open[open.length - 1];
      return wrong(`'${last.sign}' was never closed`, last.line);
    }
    line = out.length ? out[out.length - 1].line : 1;
    for (const _ of indents.slice(1)) put("dedent", "");
    put("end", "");
    return { tokens: out, open };
  }

  return { CompileError, refuseAt, tokens };
})();

window.instruments.python_parse = (() => {
  "use strict";
  const { refuseAt, tokens } = window.instruments.python_tokens;

  const KEYWORDS = new Set(`False None True and as assert async await break class continue def del elif else except finally
    for from global if import in is lambda nonlocal not or pass raise return try while with yield`.split(/\s+/));
  const COMPOUND = new Set(["if", "while", "for", "def", "class", "try", "with"]);
  const AUGMENTED = new Set(["+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", "**="]);
  const COMPARISONS = new Set(["<", "<=", ">", ">=", "==", "!=", "in", "is"]);
  //: Binary operators from the weakest.
  const LEVELS = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%", "@"]];
  const DEEPEST = 400;

  class Parser {
    constructor(source) {
      Object.assign(this, tokens(source), { place: 0, depth: 0 });
    }

    // ---- Tokens ----

    get token() { return this.tokens[this.place]; }
    get line() { return this.token.line; }

    // Whether the next token is one of these words or signs.
    is(...words) {
      const { type, text } = this.token;
      return (type === "operator" || (type === "name" && KEYWORDS.has(text))) && words.includes(text);
    }

    take(...words) {
      return this.is(...words) ? this.tokens[this.place++].text : null;
    }

    need(word) {
      if (!this.take(word)) this.fail();
    }

    name() {
      const { type, text } = this.token;
      if (type !== "name" || KEYWORDS.has(text)) this.fail();
      this.place += 1;
      return text;
    }

    // Refuse the text at a token; a fault of the tokens behind it, such as a parenthesis that is open, goes first.
    fail(reason = "invalid syntax", line = this.line) {
      const last = this.tokens[this.tokens.length - 1];
      const never = / was never closed$/.test(last.text);
      if (last.type === "error" && (!never || line > last.line || this.token === last)) refuseAt(last.line, last.text);
      if (this.token.type === "indent" && reason === "invalid syntax") refuseAt(line, "unexpected indent");
      refuseAt(line, reason);
    }

    deeper(read) {
      this.depth += 1;
      if (this.depth > DEEPEST) refuseAt(1, "the source cannot be read: it is nested too deeply");
      const made = read();
      this.depth -= 1;
      return made;
    }

    // ---- Statements ----

    module() {
      const body = [];
      while (this.token.type !== "end") body.push(...this.statement());
      return { kind: "Module", body };
    }

    statement() {
      const { type, text, line } = this.token;
      if (type === "error" || type === "indent") this.fail();
      if (type === "name" && COMPOUND.has(text)) return [this[`${text}_`](line)];
      if (this.is("@")) return [this.decorated()];
      if (this.is("async")) return [this.asynchronous(line)];
      return this.simple();
    }

    // Statements of one line.
    simple() {
      const made = [];
      do {
        if (this.token.type === "newline") break;
        made.push(this.small());
      } while (this.take(";"));
      if (this.token.type !== "newline") this.trailing();
      this.place += 1;
      return made;
    }

    trailing() {
      const before = this.tokens[this.place - 1], { type, text } = this.token;
      const begins = type === "name" || type === "number" || type === "string";
      if (before && before.type === "name" && ["print", "exec"].includes(before.text) && begins && !KEYWORDS.has(text)) {
        this.fail(`Missing parentheses in call to '${before.text}'. Did you mean ${before.text}(...)?`);
      }
      this.fail();
    }

    // The statements that a header opens; `what` is its name in an error.
    suite(what, line) {
      const quiet = /^'(if|elif|while)'/.test(what) && this.token.type !== "newline";
      if (!this.take(":")) this.fail(quiet ? "invalid syntax" : "expected ':'");
      if (this.token.type !== "newline") return this.simple();
      this.place += 1;
      if (this.token.type !== "indent") this.fail(`expected an indented block after ${what} on line ${line}`);
      this.place += 1;
      const body = [];
      this.deeper(() => {
        while (this.token.type !== "dedent") body.push(...this.statement());
      });
      this.place += 1;
      return body;
    }

    if_(line, word = "if") {
      this.place += 1;
      const made = { kind: "If", line, test: this.named(), body: [], orelse: [] };
      this.assigned(made.test);
      made.body = this.suite(`'${word}' statement`, line);
      const next = this.line;
      if (this.is("elif")) made.orelse = [this.deeper(() => this.if_(next, "elif"))];
      else made.orelse = this.otherwise();
      return made;
    }

    otherwise() {
      const line = this.line;
      return this.take("else") ? this.suite("'else' statement", line) : [];
    }

    while_(line) {
      this.place += 1;
      const test = this.named();
      this.assigned(test);
      const body = this.suite("'while' statement", line);
      return { kind: "While", line, test, body, orelse: this.otherwise() };
    }

    // `if x = 1:` in place of `==`.
    assigned(test) {
      if (!this.is("=")) return;
      if (test.kind === "Name") this.fail("invalid syntax. Maybe you meant '==' or ':=' instead of '='?", test.line);
      if (plain(test)) this.fail(`cannot assign to ${called(test)} here. Maybe you meant '==' instead of '='?`, test.line);
    }

    for_(line) {
      this.place += 1;
      const target = this.targets();
      if (!this.take("in")) this.fail();
      const iter = this.expressions();
      const body = this.suite("'for' statement", line);
      return { kind: "For", line, target: this.target(target, "cannot assign to"), iter, body, orelse: this.otherwise() };
    }

    // Targets of a loop: no comparison, which would swallow the `in`.
    targets() {
      const line = this.line, first = this.star(() => this.binary(0));
      if (!this.is(",")) return first;
      const elts = [first];
      while (this.take(",") && !this.is("in")) elts.push(this.star(() => this.binary(0)));
      return { kind: "Tuple", line, elts };
    }

    def_(line, decorators = []) {
      this.place += 1;
      const name = this.name();
      if (!this.take("(")) this.fail("expected '('");
      const args = this.parameters(")", true);
      this.need(")");
      const returns = this.take("->") ? this.expression() : null;
      const body = this.suite("function definition", line);
      return { kind: "FunctionDef", line, name, args, returns, decorators, body };
    }

    parameters(end, annotated) {
      const made = { posonlyargs: [], args: [], defaults: [], vararg: null, kwonlyargs: [], kwarg: null };
      const one = () => ({ arg: this.name(), annotation: annotated && this.take(":") ? this.expression() : null });
      while (!this.is(end)) {
        if (this.take("/")) made.posonlyargs = made.args.splice(0);
        else if (this.take("**")) made.kwarg = one();
        else if (this.take("*")) made.vararg = this.is(",") ? made.vararg : one(), made.starred = true;
        else {
          const parameter = one();
          if (this.take("=")) {
            parameter.default = this.expression();
            if (!made.starred) made.defaults.push(parameter.default);
          } else if (made.defaults.length && !made.starred) this.fail("non-default argument follows default argument", this.tokens[this.place - 1].line);
          (made.starred ? made.kwonlyargs : made.args).push(parameter);
        }
        if (!this.take(",")) break;
      }
      return made;
    }

    class_(line, decorators = []) {
      this.place += 1;
      const made = { kind: "ClassDef", line, name: this.name(), args: [], keywords: [], decorators };
      if (this.take("(")) this.arguments(made);
      made.body = this.suite("class definition", line);
      return made;
    }

    decorated() {
      const decorators = [];
      while (this.take("@")) {
        decorators.push(this.named());
        if (this.token.type !== "newline") this.fail();
        this.place += 1;
      }
      if (this.is("def")) return this.def_(this.line, decorators);
      if (this.is("class")) return this.class_(this.line, decorators);
      return this.fail();
    }

    asynchronous(line) {
      this.place += 1;
      const inner = this.is("def", "for", "with") ? this.statement()[0] : this.fail();
      return { ...inner, kind: `Async${inner.kind}`, line };
    }

    try_(line) {
      this.place += 1;
      const made = { kind: "Try", line, body: this.suite("'try' statement", line), handlers: [], orelse: [], finalbody: [] };
      for (let from = this.line; this.take("except"); from = this.line) {
        const handler = { star: this.take("*"), type: this.is(":") ? null : this.expression(), name: this.take("as") ? this.name() : null };
        made.handlers.push({ ...handler, body: this.suite("'except' statement", from) });
      }
      made.orelse = this.otherwise();
      const last = this.line;
      if (this.take("finally")) made.finalbody = this.suite("'finally' statement", last);
      else if (!made.handlers.length) this.fail("expected 'except' or 'finally' block");
      return made;
    }

    with_(line) {
      this.place += 1;
      const items = [];
      do items.push({ context: this.expression(), as: this.take("as") ? this.star(() => this.binary(0)) : null }); while (this.take(","));
      return { kind: "With", line, items, body: this.suite("'with' statement", line) };
    }

    small() {
      const { line, text, type } = this.token;
      const many = () => {
        const names = [this.name()];
        while (this.take(",")) names.push(this.name());
        return names;
      };
      const ended = () => this.token.type === "newline" || this.is(";");
      if (type === "name") {
        switch (text) {
          case "pass": case "break": case "continue":
            this.place += 1;
            return { kind: text[0].toUpperCase() + text.slice(1), line };
          case "return":
            this.place += 1;
            return { kind: "Return", line, value: ended() ? null : this.expressions() };
          case "assert":
            this.place += 1;
            return { kind: "Assert", line, test: this.expression(), msg: this.take(",") ? this.expression() : null };
          case "del":
            this.place += 1;
            return { kind: "Delete", line, targets: this.listed(this.target(this.expressions(), "cannot delete")) };
          case "global": case "nonlocal":
            this.place += 1;
            return { kind: text === "global" ? "Global" : "Nonlocal", line, names: many() };
          case "raise":
            this.place += 1;
            return { kind: "Raise", line, exc: ended() ? null : this.expression(), cause: this.take("from") ? this.expression() : null };
          case "import": case "from":
            return this.import_(line);
        }
      }
      return this.expressionStatement(line);
    }

    import_(line) {
      const dotted = () => {
        let name = this.name();
        while (this.take(".")) name += `.${this.name()}`;
        return name;
      };
      const alias = (name) => ({ name, as: this.take("as") ? this.name() : null });
      const names = [];
      if (this.take("import")) {
        do names.push(alias(dotted())); while (this.take(","));
        return { kind: "Import", line, names };
      }
      this.place += 1;
      let module = "";
      for (let dots = this.take(".", "..."); dots; dots = this.take(".", "...")) module += dots;
      if (!this.is("import")) module += dotted();
      this.need("import");
      if (this.take("*")) return { kind: "ImportFrom", line, module, names: [{ name: "*", as: null }] };
      const inside = this.take("(");
      do {
        if (inside && this.is(")")) break;
        names.push(alias(this.name()));
      } while (this.take(","));
      if (inside) this.need(")");
      return { kind: "ImportFrom", line, module, names };
    }

    listed(node) {
      return node.kind === "Tuple" ? node.elts : [node];
    }

    expressionStatement(line) {
      const first = this.expressions();
      if (this.is(":") && ["Name", "Attribute", "Subscript"].includes(first.kind)) {
        this.place += 1;
        return { kind: "AnnAssign", line, target: first, annotation: this.expression(), value: this.take("=") ? this.expressions() : null };
      }
      const { text } = this.token;
      if (this.token.type === "operator" && AUGMENTED.has(text)) {
        if (!["Name", "Attribute", "Subscript"].includes(first.kind)) this.fail(`'${called(first)}' is an illegal expression for augmented assignment`, first.line);
        this.place += 1;
        return { kind: "AugAssign", line, target: first, op: text.slice(0, -1), value: this.expressions() };
      }
      if (!this.is("=")) return { kind: "Expr", line, value: first };
      const parts = [first];
      while (this.take("=")) parts.push(this.expressions());
      const value = parts.pop();
      parts.forEach((one, place) => {
        const likely = parts.length === place + 1 && plain(one) && !["True", "False", "None"].includes(one.word);
        this.target(one, "cannot assign to", likely ? " here. Maybe you meant '==' instead of '='?" : "");
      });
      return { kind: "Assign", line, targets: parts, value };
    }

    // A node that can be assigned to.
    target(node, reason, hint = "") {
      if (node.kind === "Tuple" || node.kind === "List") node.elts.forEach((one) => this.target(one, reason));
      else if (node.kind === "Starred") this.target(node.value, reason);
      else if (!["Name", "Attribute", "Subscript"].includes(node.kind)) this.fail(`${reason} ${called(node)}${hint}`, node.line);
      return node;
    }

    // ---- Expressions, from the weakest ----

    // One expression or a tuple without parentheses.
    expressions() {
      const line = this.line, first = this.star(() => this.named());
      if (!this.is(",")) return first;
      const elts = [first];
      while (this.take(",") && this.begins()) elts.push(this.star(() => this.named()));
      return { kind: "Tuple", line, elts };
    }

    // Whether an expression can begin here.
    begins() {
      const { type, text } = this.token;
      if (["number", "string"].includes(type)) return true;
      if (type === "name") return !KEYWORDS.has(text) || ["not", "lambda", "await", "yield", "True", "False", "None"].includes(text);
      return this.is("(", "[", "{", "-", "+", "~", "*", "...");
    }

    star(read) {
      const line = this.line;
      return this.take("*") ? { kind: "Starred", line, value: this.binary(0) } : read();
    }

    named() {
      const line = this.line;
      if (this.is("yield")) return this.yield_(line);
      const first = this.expression();
      if (first.kind !== "Name" || !this.take(":=")) return first;
      return { kind: "NamedExpr", line, target: first, value: this.expression() };
    }

    yield_(line) {
      this.place += 1;
      if (this.take("from")) return { kind: "YieldFrom", line, value: this.expression() };
      return { kind: "Yield", line, value: this.begins() ? this.expressions() : null };
    }

    expression() {
      return this.deeper(() => {
        const line = this.line;
        if (this.take("lambda")) {
          const args = this.parameters(":", false);
          this.need(":");
          return { kind: "Lambda", line, args, body: this.expression() };
        }
        const body = this.either("or");
        if (!this.take("if")) return body;
        const test = this.either("or");
        if (!this.take("else")) this.fail("expected 'else' after 'if' expression", line);
        return { kind: "IfExp", line, test, body, orelse: this.expression() };
      });
    }

    either(word) {
      const line = this.line, read = () => (word === "or" ? this.either("and") : this.not());
      const values = [read()];
      while (this.take(word)) values.push(read());
      return values.length > 1 ? { kind: "BoolOp", line, op: word, values } : values[0];
    }

    not() {
      const line = this.line;
      if (this.take("not")) return this.deeper(() => ({ kind: "UnaryOp", line, op: "not", operand: this.not() }));
      return this.comparison();
    }

    comparison() {
      const line = this.line, left = this.binary(0), ops = [], comparators = [];
      for (;;) {
        let op = null;
        if (this.token.type !== "error" && COMPARISONS.has(this.token.text)) op = this.take(...COMPARISONS);
        else if (this.is("not") && this.tokens[this.place + 1].text === "in") [op] = ["not in", this.place += 2];
        if (!op) break;
        if (op === "is" && this.take("not")) op = "is not";
        ops.push(op);
        comparators.push(this.binary(0));
      }
      return ops.length ? { kind: "Compare", line, left, ops, comparators } : left;
    }

    binary(level) {
      if (level === LEVELS.length) return this.unary();
      const line = this.line;
      let left = this.binary(level + 1);
      while (this.is(...LEVELS[level])) {
        const op = this.take(...LEVELS[level]);
        left = { kind: "BinOp", line, left, op, right: this.binary(level + 1) };
      }
      return left;
    }

    unary() {
      const line = this.line, op = this.take("-", "+", "~");
      if (op) return this.deeper(() => ({ kind: "UnaryOp", line, op, operand: this.unary() }));
      return this.power();
    }

    power() {
      const line = this.line;
      const waits = this.take("await");
      let left = this.primary();
      if (waits) left = { kind: "Await", line, value: left };
      return this.take("**") ? { kind: "BinOp", line, left, op: "**", right: this.deeper(() => this.unary()) } : left;
    }

    primary() {
      const line = this.line;
      let node = this.atom();
      for (;;) {
        if (this.take(".")) node = { kind: "Attribute", line, value: node, attr: this.name() };
        else if (this.take("(")) node = this.arguments({ kind: "Call", line, func: node, args: [], keywords: [] });
        else if (this.take("[")) {
          node = { kind: "Subscript", line, value: node, slice: this.slices() };
          this.close("]");
        } else return node;
      }
    }

    arguments(made) {
      while (!this.is(")")) {
        const line = this.line;
        if (this.take("**")) made.keywords.push({ arg: null, value: this.expression() });
        else if (this.token.type === "name" && !KEYWORDS.has(this.token.text) && this.tokens[this.place + 1].text === "=") {
          const arg = this.name();
          this.place += 1;
          made.keywords.push({ arg, value: this.expression() });
        } else {
          const value = this.star(() => this.named());
          made.args.push(this.is("for", "async") ? this.comprehension({ kind: "GeneratorExp", line, elt: value }) : value);
        }
        if (!this.take(",")) break;
      }
      this.close(")");
      return made;
    }

    // The end of a bracket; where an expression follows another, a comma is missing.
    close(sign) {
      const before = this.tokens[this.place - 1];
      if (!this.is(sign) && this.begins() && !this.is("*", "yield", "-", "+") && before.type !== "operator") this.fail("invalid syntax. Perhaps you forgot a comma?");
      if (!this.take(sign)) this.fail();
    }

    slices() {
      const one = () => {
        const line = this.line, lower = this.is(":") ? null : this.star(() => this.named());
        if (!this.take(":")) return lower;
        const upper = this.is(":", ",", "]") ? null : this.expression();
        const step = this.take(":") && !this.is(",", "]") ? this.expression() : null;
        return { kind: "Slice", line, lower, upper, step };
      };
      const line = this.line, first = one();
      if (!this.is(",")) return first;
      const elts = [first];
      while (this.take(",") && !this.is("]")) elts.push(one());
      return { kind: "Tuple", line, elts };
    }

    comprehension(made) {
      const generators = [];
      while (this.is("for", "async")) {
        this.take("async");
        this.need("for");
        const target = this.targets();
        this.need("in");
        const made = { target, iter: this.either("or"), ifs: [] };
        while (this.take("if")) made.ifs.push(this.either("or"));
        generators.push(made);
      }
      return { ...made, generators };
    }

    atom() {
      const { type, text, line } = this.token;
      if (type === "number") return this.number();
      if (type === "string") return this.string();
      if (type === "name" && !KEYWORDS.has(text)) {
        this.place += 1;
        return { kind: "Name", line, id: text };
      }
      if (this.take("True", "False", "None")) return { kind: "Constant", line, word: text, value: { True: 1, False: 0, None: null }[text] };
      if (this.take("...")) return { kind: "Constant", line, word: "...", value: undefined };
      if (this.take("(")) return this.parenthesis(line);
      if (this.take("[")) return this.list(line);
      if (this.take("{")) return this.braces(line);
      return this.fail();
    }

    number() {
      const { text, line } = this.token;
      this.place += 1;
      const digits = text.replace(/_/g, "");
      if (!/^(\d+|0[xob][\da-f]+)$/i.test(digits)) return { kind: "Constant", line, word: /j$/i.test(digits) ? digits : pythonFloat(Number(digits)), value: undefined };
      if (/^\d{4301,}$/.test(digits)) {
        this.fail(`Exceeds the limit (4300 digits) for integer string conversion: value has ${digits.length} digits; `
          + "use sys.set_int_max_str_digits() to increase the limit - Consider hexadecimal for huge integer literals to avoid decimal conversion limits.", line);
      }
      const whole = BigInt(digits);
      const value = whole <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(whole) : whole;
      return { kind: "Constant", line, word: String(value), value };
    }

    // Strings one after another are one.
    string() {
      const line = this.line, unicode = this.token.prefix === "u";
      let [text, formatted, bytes] = ["", false, false];
      for (; this.token.type === "string"; this.place += 1) {
        const { prefix } = this.token;
        [formatted, bytes] = [formatted || prefix.includes("f"), bytes || prefix.includes("b")];
        text += prefix.includes("r") ? this.token.text : unescaped(this.token.text);
      }
      const word = `${unicode ? "u" : bytes ? "b" : formatted ? "f" : ""}${quoted(text)}`;
      return formatted ? { kind: "JoinedStr", line, word } : { kind: "Constant", line, word, value: undefined, text: !bytes };
    }

    parenthesis(line) {
      if (this.take(")")) return { kind: "Tuple", line, elts: [] };
      let first = this.star(() => this.named());
      if (this.is("for", "async")) first = this.comprehension({ kind: "GeneratorExp", line, elt: first });
      else if (this.is(",")) first = { kind: "Tuple", line, elts: this.rest(first, ")") };
      else if (first.kind === "Starred") this.fail("cannot use starred expression here", line);
      this.close(")");
      return first;
    }

    rest(first, end) {
      const elts = [first];
      while (this.take(",") && !this.is(end)) elts.push(this.star(() => this.named()));
      return elts;
    }

    list(line) {
      let made = { kind: "List", line, elts: [] };
      if (!this.is("]")) {
        const first = this.star(() => this.named());
        if (this.is("for", "async")) made = this.comprehension({ kind: "ListComp", line, elt: first });
        else made.elts = this.rest(first, "]");
      }
      this.close("]");
      return made;
    }

    braces(line) {
      const pairs = [], elts = [];
      let made = null;
      while (!this.is("}") && !made) {
        if (this.take("**")) pairs.push([null, this.binary(0)]);
        else {
          const first = this.star(() => this.named());
          if (this.take(":")) pairs.push([first, this.expression()]);
          else elts.push(first);
          if (this.is("for", "async")) {
            made = elts.length ? { kind: "SetComp", line, elt: elts[0] } : { kind: "DictComp", line, key: pairs[0][0], value: pairs[0][1] };
            made = this.comprehension(made);
          }
        }
        if (!this.take(",")) break;
      }
      this.close("}");
      return made ?? (elts.length ? { kind: "Set", line, elts } : { kind: "Dict", line, pairs });
    }
  }

  // ---- Words ----

  const unescaped = (text) => text.replace(/\\(\n|.)/gs, (whole, sign) => ({ n: "\n", t: "\t", "\\": "\\", "'": "'", '"': '"', "\n": "" }[sign] ?? whole));

  function pythonFloat(value) {
    const [digits, exponent] = value.toExponential().split("e");
    if (!Number.isFinite(value)) return "1e309";
    if (value && (Number(exponent) < -4 || Number(exponent) >= 16)) return `${digits}e${exponent.replace(/^([+-])(\d)$/, "$10$2")}`;
    return Number.isInteger(value) ? `${value}.0` : String(value);
  }

  function quoted(text) {
    const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
    const inside = text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\t/g, "\\t");
    return `${quote}${quote === "'" ? inside.replace(/'/g, "\\'") : inside}${quote}`;
  }

  // The name of a node in the errors of assignments.
  function called(node) {
    if (node.kind === "Constant") return ["True", "False", "None"].includes(node.word) ? node.word : node.word === "..." ? "ellipsis" : "literal";
    return {
      Call: "function call", BinOp: "expression", UnaryOp: "expression", BoolOp: "expression", Compare: "comparison", IfExp: "conditional expression",
      Lambda: "lambda", ListComp: "list comprehension", SetComp: "set comprehension", DictComp: "dict comprehension", GeneratorExp: "generator expression",
      Dict: "dict literal", Set: "set display", JoinedStr: "f-string expression", Await: "await expression", Yield: "yield expression",
      YieldFrom: "yield expression", NamedExpr: "named expression", Tuple: "tuple", List: "list", Starred: "starred", Attribute: "attribute",
      Subscript: "subscript", Name: "name",
    }[node.kind];
  }

  // What CPython reads as one operand of `=` that may be meant as `==`.
  const plain = (node) => !["Name", "Compare", "BoolOp", "IfExp", "Lambda", "Tuple", "List", "GeneratorExp", "Starred", "NamedExpr", "Yield"].includes(node.kind)
    && !(node.kind === "UnaryOp" && node.op === "not");

  function parse(source) {
    if (source.includes("\0")) refuseAt(1, "source code string cannot contain null bytes");
    try {
      return new Parser(source).module();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return refuseAt(1, "the source cannot be read: it is nested too deeply");
    }
  }

  return { parse };
})();
