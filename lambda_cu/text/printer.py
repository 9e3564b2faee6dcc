"""Programs of lambda_cu as text, in the concrete syntax of the lambda-cu paper. lambda_cu.text.parser is the inverse.

    site s1 "index out of range" at "sum.nesl":20-25
    scalar square (x : float) -> float { x * x }
    kernel K1 (n : int, xs : [float; n]) -> float {
      let z = REDUCE { i => square(xs[i]) using xs } (0.0) { (x, y) => x + y } (n)
      return z
    }
    function total (n : int, xs : [float; n]) -> (sum : float) {
      let sum1 : float = run K1 (n, xs)
      return sum1
    }
    entry total : [float] -> float

A choice has versions of a computation; its tunables stand before kernels:

    tunable total.sum.pulled : share = 8
    let sum1 : float = choose {
      pulled if n * total.sum.pulled <= m { ... }
      items { ... }
    }

Spaces: (n), uniform(segments, length, total), closed(segments, terms, total), irregular(offsets, segments, total);
SOACs over segments are SEG_. A term of a closed length is its coefficients, of 1, s, s*(s-1)/2 and so on,
`doubling` if times 2^s, or `floor(factor, offset, divisor)`; `from m` if it counts from segment m on: (1, 2) +
(m, -1) from k is 1 + 2*s, and from s = k on m - s more. After the space come `total` (SCAN),
`into size (before) mode` (PERMUTE) and `descending` (ORDER); of MAP and REDUCE, `interior`, and parts of the space,
each with its `case`, its range on each axis, steps and widths where it has some, and its thunk. A kernel's result types
are derived, and left out where the kernel has none.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from nessie.base.source import IllFormed, Origin
from nessie.base.text.layout import Doc, Mark, join, render
from nessie.base.text.tokens import show_string
from nessie.lambda_cu import nodes as ir
from nessie.lambda_cu.mappings.text import show_mapping
from nessie.lambda_cu.text.printer_expressions import (
    WIDTH,
    name,
    show_const,
    show_exp,
    show_layout,
    show_thunk,
    show_type,
    show_value,
)
from nessie.lambda_cu.text.soacs import show_soac, show_space
from nessie.lambda_cu.typing import Scope, bound_types, functions_of

__all__ = ["kernel_types", "show", "show_bind", "show_exp", "show_function", "show_kernel", "show_layout",
           "show_soac", "show_space", "show_statement", "show_thunk", "show_type"]


def show(program: ir.Program) -> str:
    return render(document(program))


def document(program: ir.Program) -> Doc:
    """The text; sites, functions, kernels, bindings and statements are marked."""
    functions = functions_of(program)
    parts: list[Doc] = [tuple((Mark(show_site(site), site), "\n") for site in program.sites),
                        tuple(Mark(show_scalar_function(f), f) for f in program.scalar_functions),
                        tuple((Mark(show_tunable(t), t), "\n") for t in program.tunables)]
    parts += [Mark(kernel_doc(kernel, functions), kernel) for kernel in program.kernels]
    parts += [Mark(function_doc(function), function) for function in program.functions]
    return join("\n", [part for part in (*parts, show_entry(program.entry)) if part])


def show_site(site: ir.Site) -> str:
    element = " element" if site.element else ""
    return f"site {name(site.name)} {show_string(site.message)}{element}{show_origin(site.origin)}"


def show_tunable(tunable: ir.Tunable) -> str:
    return f"tunable {name(tunable.name)} : {tunable.of} = {tunable.value}"


def show_origin(origin: Origin) -> str:
    """ at "file":start-end, library "prelude.nesl":3-9"""
    spans = [f"{'library ' if span.source.library else ''}{show_string(span.source.name)}:{span.start}-{span.end}"
             for span in origin]
    return f" at {', '.join(spans)}" if spans else ""


def show_entry(entry: ir.Entry) -> str:
    arguments = ", ".join(map(show_layout, entry.arguments)) or "()"
    return f"entry {name(entry.function)} : {arguments} -> {show_layout(entry.result)}\n"


def show_scalar_function(function: ir.ScalarFunction) -> str:
    shown = [*map(show_param, function.params), *(f"{name(p.name)} : &[{p.type}]" for p in function.arrays)]
    head = f"scalar {name(function.name)} {wrapped('', shown, '  ')} -> {tupled(function.results)} {{"
    body = show_exp(function.body, 2)
    if "\n" not in body and len(head) + len(body) < WIDTH:
        return f"{head} {body} }}\n"
    return f"{head}\n  {body}\n}}\n"


# Kernels ----------------------------------------------------------------------------------------


def show_kernel(kernel: ir.Kernel) -> str:
    return render(kernel_doc(kernel, {}))


def kernel_doc(kernel: ir.Kernel, functions: Mapping[str, ir.ScalarFunction]) -> Doc:
    types = kernel_types(kernel, functions)
    result = f"-> {tupled(map(show_type, types))}" if types is not None else ""
    by = f" by {show_mapping(kernel.by)}" if kernel.by is not None else ""
    head = header(f"kernel {name(kernel.name)} ", kernel.params, f"{result}{by}".strip())
    binds = tuple(("  ", Mark(show_bind(bind), bind), "\n") for bind in kernel.binds)
    return (head, "\n", binds, f"  return {tupled(map(name, kernel.returns))}\n}}\n")


def kernel_types(kernel: ir.Kernel, functions: Mapping[str, ir.ScalarFunction]) -> tuple[ir.Type, ...] | None:
    """The types of what the kernel returns; None where it is ill typed."""
    scope = Scope({param.name: param.type for param in kernel.params}, functions)
    try:
        for bind in kernel.binds:
            scope.names.update(zip(bind.names, bound_types(bind, scope), strict=True))
        return tuple(scope.names[result] for result in kernel.returns)
    except (IllFormed, ValueError, KeyError):
        return None


def show_bind(bind: ir.Bind) -> str:
    return f"let {tupled(map(name, bind.names))} = {show_soac(bind.soac)}"


# Host level -------------------------------------------------------------------------------------


def show_function(function: ir.Function) -> str:
    return render(function_doc(function))


def function_doc(function: ir.Function) -> Doc:
    apart = f" apart {name(function.apart)}" if function.apart else ""
    apart += f" over {show_space(function.over)}" if function.over is not None else ""
    apart += f" by {show_mapping(function.by)}" if function.by is not None else ""
    head = header(f"function {name(function.name)} ", function.params, f"-> {parameters(function.results)}{apart}")
    return (head, "\n", block_doc(function.body, "  "), "}\n")


def block_doc(block: ir.Block, indent: str) -> Doc:
    """Each statement on lines of its own, and the block's results."""
    statements = tuple((indent, Mark(statement_doc(statement, indent), statement), "\n")
                       for statement in block.statements)
    return (statements, f"{indent}return {tupled(map(show_atom, block.results))}\n")


def show_statement(statement: ir.Statement) -> str:
    return render(statement_doc(statement, ""))


def statement_doc(statement: ir.Statement, indent: str) -> Doc:
    """`indent`: of its lines but the first."""
    match statement:
        case ir.Run(results, kernel, arguments):
            return further_in(f"{bound(results)} = run {name(kernel)} ", map(show_atom, arguments), indent)
        case ir.Call(results, function, arguments):
            return further_in(f"{bound(results)} = call {name(function)} ", map(show_atom, arguments), indent)
        case ir.Effect(results, effect, arguments, takes, gives):
            return (further_in(f"{bound(results)} = perform {name(effect)} ", map(show_atom, arguments), indent),
                    f" : {show_layout(takes)} -> {show_layout(gives)}")
        case ir.HostLet(result, value):
            return f"{bound((result,))} = {show_exp(value, len(indent) + 2)}"
        case ir.Data(result, values):
            return further_in(f"{bound((result,))} = data ", map(show_value, values), indent, "[]")
        case ir.Branch(results, condition, then, orelse):
            return (f"{bound(results)} = if {show_atom(condition)} {{\n", block_doc(then, indent + "  "),
                    f"{indent}}} else {{\n", block_doc(orelse, indent + "  "), f"{indent}}}")
        case ir.Choose(results, cases):
            return (f"{bound(results)} = choose {{\n", tuple(case_doc(case, indent + "  ") for case in cases),
                    f"{indent}}}")
    raise TypeError(statement)


def case_doc(case: ir.Case, indent: str) -> Doc:
    condition = "" if case.condition is None else f" if {show_exp(case.condition, len(indent) + 2)}"
    return (f"{indent}{name(case.name)}{condition} {{\n", block_doc(case.block, indent + "  "), f"{indent}}}\n")


def bound(results: tuple[ir.Param, ...]) -> str:
    return f"let {tupled(map(show_param, results))}"


def show_atom(atom: ir.Atom) -> str:
    if isinstance(atom, ir.Const) and atom.type == "site":
        return f"site {name(str(atom.value))}"
    return name(atom.name) if isinstance(atom, ir.Var) else show_const(atom)


# Lists ------------------------------------------------------------------------------------------


def show_param(param: ir.Param) -> str:
    return f"{name(param.name)} : {show_type(param.type)}"


def parameters(params: tuple[ir.Param, ...]) -> str:
    """(n : int, xs : [float; n]), over several lines where it is long."""
    return wrapped("", map(show_param, params), "  ")


def header(start: str, params: tuple[ir.Param, ...], result: str) -> str:
    """kernel K1 (n : int) -> int {, with the result on a line of its own where it is long."""
    lines = wrapped(start, map(show_param, params), "  ")
    if result and len(lines) - lines.rfind("\n") - 1 + len(result) > WIDTH:
        return f"{lines}\n    {result} {{"
    return lines + (f" {result} {{" if result else " {")


def listed(items: Iterable[str]) -> str:
    return f"({', '.join(items)})"


def tupled(items: Iterable[str]) -> str:
    """One item alone, else all between parentheses."""
    items = list(items)
    return items[0] if len(items) == 1 else listed(items)


def wrapped(start: str, items: Iterable[str], indent: str, brackets: str = "()") -> str:
    """The start and the bracketed items; a line that grows too long goes on further in."""
    lines, line = [], start + brackets[0]
    separator = ""
    for item in items:
        if separator and len(line) + len(item) > WIDTH:
            lines.append(line + ",")
            line = f"{indent}    {item}"
        else:
            line += separator + item
        separator = ", "
    return "\n".join([*lines, line + brackets[1]])


def further_in(start: str, items: Iterable[str], indent: str, brackets: str = "()") -> str:
    """The text of `wrapped` for a line that has been indented already."""
    return wrapped(indent + start, items, indent, brackets)[len(indent):]
