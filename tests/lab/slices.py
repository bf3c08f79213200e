"""A chapter, cut down to what its labs need. That all its cells run is seen elsewhere."""

import ast
from collections.abc import Sequence

from nbformat import NotebookNode


def for_labs(notebook: NotebookNode) -> NotebookNode:
    """The notebook with those code cells only that make a lab, and those before them that give a
    name they ask for, or change what bears one."""
    trees = {
        i: ast.parse(cell.source)
        for i, cell in enumerate(notebook.cells)
        if cell.cell_type == "code"
    }
    modules = {name for tree in trees.values() for name in _imported(tree)}
    wanted: set[str] = set()
    kept = set()
    for i, tree in reversed(trees.items()):
        given = _given(tree) | (_changed(tree) - modules)
        if _makes_a_lab(tree) or wanted & given:
            kept.add(i)
            wanted = _before(tree.body, wanted)
    cut = notebook.copy()
    cut.cells = [
        cell for i, cell in enumerate(notebook.cells) if cell.cell_type != "code" or i in kept
    ]
    return cut


def _before(body: Sequence[ast.stmt], wanted: set[str]) -> set[str]:
    """The names that must be there before these statements, if ``wanted`` must be after them."""
    for statement in reversed(body):
        match statement:
            case ast.For():
                inside = _before([*statement.body, *statement.orelse], wanted)
                wanted = (wanted | inside) - _given(statement.target) | _asked(statement.iter)
            case ast.With():
                heads = [item.context_expr for item in statement.items]
                wanted = _before(statement.body, wanted).union(*map(_asked, heads))
            case ast.If():
                branches = (_before(part, wanted) for part in (statement.body, statement.orelse))
                wanted = wanted.union(_asked(statement.test), *branches)
            case _:
                wanted = (wanted - _given(statement)) | _asked(statement)
    return wanted


def _own(tree: ast.AST) -> set[str]:
    """Names that live inside of a function or a comprehension."""
    own: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.comprehension():
                own |= _given(node.target)
            case ast.FunctionDef() | ast.Lambda():
                arguments = node.args
                own |= {each.arg for each in (*arguments.args, *arguments.kwonlyargs)}
                if isinstance(node, ast.FunctionDef):
                    own |= set().union(*map(_given, node.body))
    return own


def _asked(tree: ast.AST) -> set[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Load)} - _own(tree)


def _given(tree: ast.AST) -> set[str]:
    found = set(_imported(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


def _imported(tree: ast.AST) -> set[str]:
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def _changed(tree: ast.AST) -> set[str]:
    """What keeps its name and is another afterwards: seen.append(…), net.eval(), options[k] = v."""
    found = set()
    for node in ast.walk(tree):
        changed = None
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            changed = node.value
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            changed = node.value.func if isinstance(node.value.func, ast.Attribute) else None
        while isinstance(changed, ast.Attribute | ast.Subscript | ast.Call):
            changed = changed.func if isinstance(changed, ast.Call) else changed.value
        if isinstance(changed, ast.Name):
            found.add(changed.id)
    return found


def _makes_a_lab(tree: ast.Module) -> bool:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(isinstance(call, ast.Name) and call.id.endswith("Lab") for call in calls)
