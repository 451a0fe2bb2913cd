// A node of the tree as Python's `ast.unparse` writes it, on one line and cut short: what a refusal quotes.
window.instruments.python_words = (() => {
  "use strict";
  // Precedences, from the weakest.
  const [, TUPLE, YIELD, TEST, OR, AND, NOT, CMP, EXPR, , , , ARITH, TERM, FACTOR, POWER, AWAIT, ATOM] = Array.from({ length: 18 }, (_, k) => k);
  const BINARY = { "|": EXPR, "^": EXPR + 1, "&": EXPR + 2, "<<": EXPR + 3, ">>": EXPR + 3, "+": ARITH, "-": ARITH, "**": POWER };
  const MOST = 40;

  const list = (nodes) => nodes.map((one) => text(one)).join(", ");
  const block = (nodes) => nodes.map((one) => text(one)).join(" ");
  const inner = (nodes) => (nodes[0]?.kind === "Expr" && nodes[0].value.text ? [`"""${nodes[0].value.word.slice(1, -1)}"""`, block(nodes.slice(1))].join(" ") : block(nodes));
  const parens = (own, level, words) => (level > own ? `(${words})` : words);
  const renamed = ({ name, as }) => (as ? `${name} as ${as}` : name);
  const decorated = (node, words) => `${node.decorators.map((one) => `@${text(one)} `).join("")}${words}`;
  const otherwise = (nodes) => (nodes.length ? ` else: ${block(nodes)}` : "");
  const loops = ({ generators }) => generators.map(({ target, iter, ifs }) => ` for ${text(target, TUPLE)} in ${text(iter, TEST + 1)}${ifs.map((one) => ` if ${text(one, TEST + 1)}`).join("")}`).join("");

  function parameters({ posonlyargs, args, vararg, kwonlyargs, kwarg }) {
    const one = ({ arg, annotation, default: value }) => `${arg}${annotation ? `: ${text(annotation)}` : ""}${value ? `=${text(value)}` : ""}`;
    const parts = [...posonlyargs.map(one), ...(posonlyargs.length ? ["/"] : []), ...args.map(one)];
    if (vararg || kwonlyargs.length) parts.push(`*${vararg ? one(vararg) : ""}`);
    return [...parts, ...kwonlyargs.map(one), ...(kwarg ? [`**${one(kwarg)}`] : [])].join(", ");
  }

  const given = ({ args, keywords }) => [...args.map((one) => text(one)), ...keywords.map(({ arg, value }) => (arg ? `${arg}=${text(value)}` : `**${text(value)}`))].join(", ");

  const WRITERS = {
    Constant: (node) => node.word,
    JoinedStr: (node) => node.word,
    Name: (node) => node.id,
    Attribute: (node) => `${text(node.value, ATOM)}${node.value.kind === "Constant" && Number.isInteger(node.value.value) ? " " : ""}.${node.attr}`,
    Subscript: (node) => `${text(node.value, ATOM)}[${node.slice.kind === "Tuple" && node.slice.elts.length > 1 ? list(node.slice.elts) : text(node.slice)}]`,
    Slice: ({ lower, upper, step }) => `${lower ? text(lower) : ""}:${upper ? text(upper) : ""}${step ? `:${text(step)}` : ""}`,
    Call: (node) => `${text(node.func, ATOM)}(${given(node)})`,
    Starred: (node) => `*${text(node.value, EXPR)}`,
    Tuple({ elts }, level) {
      const words = `${list(elts)}${elts.length === 1 ? "," : ""}`;
      return elts.length ? parens(TUPLE, level, words) : "()";
    },
    List: ({ elts }) => `[${list(elts)}]`,
    Set: ({ elts }) => `{${list(elts)}}`,
    Dict: ({ pairs }) => `{${pairs.map(([key, value]) => (key ? `${text(key)}: ${text(value)}` : `**${text(value, EXPR)}`)).join(", ")}}`,
    ListComp: (node) => `[${text(node.elt)}${loops(node)}]`,
    SetComp: (node) => `{${text(node.elt)}${loops(node)}}`,
    GeneratorExp: (node) => `(${text(node.elt)}${loops(node)})`,
    DictComp: (node) => `{${text(node.key)}: ${text(node.value)}${loops(node)}}`,
    UnaryOp: ({ op, operand }, level) => (op === "not" ? parens(NOT, level, `not ${text(operand, NOT)}`) : parens(FACTOR, level, `${op}${text(operand, FACTOR)}`)),
    BinOp({ left, op, right }, level) {
      const own = BINARY[op] ?? TERM, before = op === "**";
      return parens(own, level, `${text(left, own + before)} ${op} ${text(right, own + !before)}`);
    },
    BoolOp({ op, values }, level) {
      const own = op === "or" ? OR : AND;
      return parens(own, level, values.map((one, place) => text(one, own + 1 + place)).join(` ${op} `));
    },
    Compare: ({ left, ops, comparators }, level) => parens(CMP, level, text(left, CMP + 1) + ops.map((op, k) => ` ${op} ${text(comparators[k], CMP + 1)}`).join("")),
    IfExp: ({ test, body, orelse }, level) => parens(TEST, level, `${text(body, TEST + 1)} if ${text(test, TEST + 1)} else ${text(orelse, TEST)}`),
    Lambda: ({ args, body }, level) => parens(TEST, level, `lambda${parameters(args) && " "}${parameters(args)}: ${text(body)}`),
    NamedExpr: ({ target, value }, level) => parens(TUPLE, level, `${text(target, ATOM)} := ${text(value, ATOM)}`),
    Await: ({ value }, level) => parens(AWAIT, level, `await ${text(value, ATOM)}`),
    Yield: ({ value }, level) => parens(YIELD, level, value ? `yield ${text(value, ATOM)}` : "yield"),
    YieldFrom: ({ value }, level) => parens(YIELD, level, `yield from ${text(value, ATOM)}`),

    Expr: ({ value }) => text(value, YIELD),
    Assign: ({ targets, value }) => `${targets.map((one) => `${text(one, TUPLE)} = `).join("")}${text(value)}`,
    AugAssign: ({ target, op, value }) => `${text(target)} ${op}= ${text(value)}`,
    AnnAssign: ({ target, annotation, value }) => `${text(target)}: ${text(annotation)}${value ? ` = ${text(value)}` : ""}`,
    Return: ({ value }) => (value ? `return ${text(value)}` : "return"),
    Pass: () => "pass",
    Break: () => "break",
    Continue: () => "continue",
    Assert: ({ test, msg }) => `assert ${text(test)}${msg ? `, ${text(msg)}` : ""}`,
    Delete: ({ targets }) => `del ${list(targets)}`,
    Global: ({ names }) => `global ${names.join(", ")}`,
    Nonlocal: ({ names }) => `nonlocal ${names.join(", ")}`,
    Raise: ({ exc, cause }) => `raise${exc ? ` ${text(exc)}` : ""}${cause ? ` from ${text(cause)}` : ""}`,
    Import: ({ names }) => `import ${names.map(renamed).join(", ")}`,
    ImportFrom: ({ module, names }) => `from ${module} import ${names.map(renamed).join(", ")}`,
    If({ test, body, orelse }) {
      const rest = orelse.length === 1 && orelse[0].kind === "If" ? ` el${text(orelse[0])}` : otherwise(orelse);
      return `if ${text(test)}: ${block(body)}${rest}`;
    },
    While: ({ test, body, orelse }) => `while ${text(test)}: ${block(body)}${otherwise(orelse)}`,
    For: ({ target, iter, body, orelse }) => `for ${text(target, TUPLE)} in ${text(iter)}: ${block(body)}${otherwise(orelse)}`,
    With: ({ items, body }) => `with ${items.map(({ context, as }) => text(context) + (as ? ` as ${text(as)}` : "")).join(", ")}: ${block(body)}`,
    Try: ({ body, handlers, orelse, finalbody }) => `try: ${block(body)}${handlers.map((one) => ` except${one.star ? "*" : ""}${one.type ? ` ${text(one.type)}` : ""}${one.name ? ` as ${one.name}` : ""}: ${block(one.body)}`).join("")}${otherwise(orelse)}${finalbody.length ? ` finally: ${block(finalbody)}` : ""}`,
    FunctionDef: (node) => decorated(node, `def ${node.name}(${parameters(node.args)})${node.returns ? ` -> ${text(node.returns)}` : ""}: ${inner(node.body)}`),
    ClassDef: (node) => decorated(node, `class ${node.name}${given(node) && `(${given(node)})`}: ${inner(node.body)}`),
  };

  function text(node, level = TEST) {
    if (node.kind.startsWith("Async")) return `async ${text({ ...node, kind: node.kind.slice(5) })}`;
    return WRITERS[node.kind](node, level);
  }

  // A node in words, at most forty characters.
  function words(node) {
    const signs = [...text(node).trim().replace(/\s+/gu, " ")];
    return signs.length <= MOST ? signs.join("") : `${signs.slice(0, MOST - 3).join("")}...`;
  }

  return { words };
})();
