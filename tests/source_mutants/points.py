"""Places of a Python module where one small change makes a mutant, and the module with that change."""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_JUMPS: dict[type[ast.stmt], type[ast.stmt]] = {ast.Break: ast.Continue, ast.Continue: ast.Break}
# A test of these is changed at its operator.
_HAVE_AN_OPERATOR = (ast.Compare, ast.BoolOp, ast.Constant)

Change = Callable[[ast.AST], ast.AST]

UNCHANGED = -1


class Point(NamedTuple):
    """One possible change.

    `line` is that of the changed node, `lines` are those of its statement without the statements inside.
    `in_function` is False for what runs when the module is imported.
    """

    index: int
    what: str
    line: int
    lines: range
    in_function: bool


class _Node(NamedTuple):
    node: ast.AST
    statement: ast.stmt
    in_function: bool


def points_of(source: str) -> list[Point]:
    """Return every possible change of a module, always in the same order."""
    return [
        Point(index, what, getattr(node, "lineno", statement.lineno), _lines(statement), in_function)
        for index, ((node, statement, in_function), what, _) in enumerate(_changes(ast.parse(source)))
    ]


def mutant_of(source: str, index: int) -> ast.Module:
    """Return the module with the change of that index, or as it is (`UNCHANGED`)."""
    tree = ast.parse(source)
    if index == UNCHANGED:
        return tree
    for at, (where, _, change) in enumerate(_changes(tree)):
        if at == index:
            return ast.fix_missing_locations(_Replace(where.node, change).visit(tree))
    raise IndexError(index)


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, change: Change) -> None:
        self._node, self._change = node, change

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._node:
            return ast.copy_location(self._change(node), node)
        return super().visit(node)


def _lines(statement: ast.stmt) -> range:
    body = getattr(statement, "body", None) or getattr(statement, "cases", None)
    if not body:
        return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    first = body[0].lineno if hasattr(body[0], "lineno") else body[0].pattern.lineno
    return range(statement.lineno, max(first, statement.lineno + 1))


def _changes(tree: ast.Module) -> Iterator[tuple[_Node, str, Change]]:
    for each in _nodes(tree, tree.body[0], False):
        for what, change in _changes_of(each.node):
            yield each, what, change


def _nodes(node: ast.AST, statement: ast.stmt, in_function: bool) -> Iterator[_Node]:
    """Yield nodes whose change would be one of behaviour: no annotations, docstrings, assertions."""
    if isinstance(node, ast.stmt):
        statement = node
    if isinstance(node, ast.Assert) or _is_for_type_checkers(node):
        return
    yield _Node(node, statement, in_function)
    is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "format_spec", "type_comment", "type_params"):
            continue
        inside = in_function or (is_function and name == "body")
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child, statement, inside)


def _is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _changes_of(node: ast.AST) -> Iterator[tuple[str, Change]]:
    yield from _of_operators(node)
    if isinstance(node, ast.Constant):
        yield from _of_constants(node)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)) and not _has_an_operator(node.test):
        yield "negated condition", _negated_test
    elif isinstance(node, ast.comprehension):
        for at, condition in enumerate(node.ifs):
            if not _has_an_operator(condition):
                yield "negated condition", _negated_filter(at)
    elif isinstance(node, ast.Return):
        if node.value is not None and not _is_none(node.value):
            yield "return None", _none_returned
    elif isinstance(node, (ast.Break, ast.Continue)):
        yield f"{_name(type(node))} -> {_name(_JUMPS[type(node)])}", lambda each: _JUMPS[type(each)]()
    elif _may_be_removed(node):
        yield "statement removed", _removed


def _of_operators(node: ast.AST) -> Iterator[tuple[str, Change]]:
    if isinstance(node, ast.Compare):
        for at, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                yield f"{_name(type(operator))} -> {_name(other)}", _compared(at, other)
    elif isinstance(node, ast.BoolOp):
        yield ("and -> or" if isinstance(node.op, ast.And) else "or -> and"), _other_junction
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not removed", lambda each: each.operand  # type: ignore[attr-defined]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "minus removed", lambda each: each.operand  # type: ignore[attr-defined]
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
        yield f"{_name(type(node.op))} -> {_name(_OPERATORS[type(node.op)])}", _other_operator


def _of_constants(node: ast.Constant) -> Iterator[tuple[str, Change]]:
    """Yield numbers and truth values; words are not changed."""
    if isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", lambda _: ast.Constant(not node.value)
    elif isinstance(node.value, (int, float)):
        for by in (1, -1):
            yield f"{node.value} -> {node.value + by}", _constant(node.value + by)


def _constant(value: float) -> Change:
    return lambda _: ast.Constant(value)


def _compared(at: int, other: type[ast.cmpop]) -> Change:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Compare)
        node.ops[at] = other()
        return node

    return change


def _other_junction(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return node


def _other_operator(node: ast.AST) -> ast.AST:
    assert isinstance(node, (ast.BinOp, ast.AugAssign))
    node.op = _OPERATORS[type(node.op)]()
    return node


def _has_an_operator(test: ast.expr) -> bool:
    is_not = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return is_not or isinstance(test, _HAVE_AN_OPERATOR)


def _negated_test(node: ast.AST) -> ast.AST:
    assert isinstance(node, (ast.If, ast.While, ast.IfExp))
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node


def _negated_filter(at: int) -> Change:
    def change(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.comprehension)
        node.ifs[at] = ast.UnaryOp(ast.Not(), node.ifs[at])
        return node

    return change


def _none_returned(node: ast.AST) -> ast.AST:
    """Return None, and keep the value in the code unevaluated, so that the function has equal variables."""
    assert isinstance(node, ast.Return) and node.value is not None
    node.value = ast.IfExp(ast.Constant(False), node.value, ast.Constant(None))
    return node


def _removed(node: ast.AST) -> ast.AST:
    """Remove a statement, but keep it in the code unreachable, so that a generator remains one."""
    assert isinstance(node, ast.stmt)
    return ast.If(ast.Constant(False), [node], [])


def _may_be_removed(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return not all(isinstance(target, (ast.Name, ast.Tuple)) for target in node.targets)
    return isinstance(node, (ast.AugAssign, ast.Raise, ast.Delete))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _name(kind: type[ast.AST]) -> str:
    return {
        ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
        ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
        ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/", ast.Mod: "%",
        ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>",
        ast.Break: "break", ast.Continue: "continue",
    }[kind]  # fmt: skip
