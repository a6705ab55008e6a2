"""House nodes use no LangGraph feature that would act beside the record (docs: the record of a run).

Its retries re-run a node under the same step, its cache and time-outs answer without an effect, its interrupts
return silently without a checkpointer, and a bare compiled subgraph as a node hides the parent's path. A router that
is not `async` costs a thread in every superstep.
"""

import ast

import pytest

OPTIONS = {"retry_policy", "retry", "cache_policy", "timeout", "error_handler"}
NODE_METHODS = {"add_node", "set_node_defaults", "add_sequence"}
COMPILE_OPTIONS = {"interrupt_before", "interrupt_after"}
IMPORTS = {"interrupt", "Interrupt", "RetryPolicy", "CachePolicy", "TimeoutPolicy"}


def used(tree):
    """Line and name of each feature that house nodes do without."""
    found = []
    quick = {node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("langgraph"):
            found += [(node.lineno, alias.name) for alias in node.names if alias.name in IMPORTS]
        elif isinstance(node, ast.Attribute) and node.attr in IMPORTS:
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = {keyword.arg for keyword in node.keywords}
            if node.func.attr in NODE_METHODS:
                found += [(node.lineno, option) for option in sorted(given & OPTIONS, key=str)]
                inner = [
                    part
                    for argument in [*node.args, *(k.value for k in node.keywords)]
                    for part in ast.walk(argument)
                ]
                found += [
                    (node.lineno, "compiled subgraph as node")
                    for part in inner
                    if isinstance(part, ast.Call)
                    and isinstance(part.func, ast.Attribute)
                    and part.func.attr == "compile"
                ]
            elif node.func.attr == "add_conditional_edges":
                routers = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "path")]
                found += [
                    (node.lineno, "router that is not async")
                    for router in routers
                    if not (isinstance(router, ast.Name) and router.id in quick)
                ]
            elif node.func.attr == "compile":
                found += [(node.lineno, option) for option in sorted(given & COMPILE_OPTIONS, key=str)]
    return found


@pytest.mark.parametrize(
    "code",
    [
        "graph.add_node('act', act, retry_policy=RetryPolicy())",
        "graph.add_node('act', act, cache_policy=policy)",
        "graph.add_node('act', act, timeout=3)",
        "graph.add_node('act', act, error_handler=mend)",
        "graph.set_node_defaults(retry_policy=policy)",
        "graph.add_node('inner', inner.compile())",
        "graph.compile(interrupt_before=['act'])",
        "graph.add_conditional_edges('act', lambda state: 'act')",
        "def where(state): ...\ngraph.add_conditional_edges('act', path=where)",
        "from langgraph.types import interrupt",
        "from langgraph import types\ntypes.interrupt('which?')",
    ],
)
def test_a_feature_that_acts_beside_the_record_is_found(code):
    assert used(ast.parse(code))


def test_an_ordinary_node_is_fine():
    assert used(ast.parse("graph.add_node('act', act)\ncall(timeout=3)\ngraph.compile(name='aaw')")) == []


def test_house_nodes_use_none_of_them(modules):
    assert {path: used(tree) for path, tree in modules.items() if used(tree)} == {}
