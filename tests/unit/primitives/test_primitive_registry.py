"""Resources, templates and prompts are registered and found."""

from __future__ import annotations

from server.call import Principal
from server.identity.tool_access import allows_tool
from tests.support.primitives import prompt, resource, template
from tools.primitive_registry import Kind, PrimitiveRegistry


def test_built_in_primitives_keep_their_order_and_later_ones_are_sorted_behind_them() -> None:
    registry = PrimitiveRegistry([resource("test://z"), resource("test://a"), prompt("z"), prompt("a")])
    for each in (resource("test://y"), resource("test://b"), prompt("b")):
        registry.register(each)
    assert [each.value.uri for each in registry.resources.all()] == ["test://z", "test://a", "test://b", "test://y"]
    assert [each.value.name for each in registry.prompts.all()] == ["z", "a", "b"]


def test_uri_is_matched_to_a_resource_before_a_template() -> None:
    registry = PrimitiveRegistry([template("test://{which}"), template("test://{which}/more"), resource("test://one")])
    assert _found(registry, "test://one") == ("test://one", {})
    assert _found(registry, "test://two") == ("test://{which}", {"which": "two"})
    assert _found(registry, "test://two/more") == ("test://{which}/more", {"which": "two"})
    assert registry.find_resource("test://two/other") is None


def test_withdrawn_primitive_is_not_found_and_may_be_registered_again() -> None:
    registry = PrimitiveRegistry([resource(), template(), prompt()])
    assert registry.has_completers
    for register in (registry.resources, registry.templates, registry.prompts):
        register.exchange({}, register.names())
    assert registry.find_resource("test://one") is registry.find_resource("test://many/1") is None
    assert not registry.has_completers
    registry.register(prompt())
    assert registry.prompts.current("greet") is not None
    assert registry.has_completers


def test_listener_is_told_which_kind_of_primitive_changed() -> None:
    registry, told = PrimitiveRegistry(), list[Kind]()
    registry.on_change(told.append)
    registry.register(resource())
    registry.register(template())
    registry.register(prompt())
    registry.prompts.exchange({}, ["greet"])
    assert told == ["resources", "resources", "prompts", "prompts"]


def test_resource_needs_a_scope_only_where_it_states_one() -> None:
    registry = PrimitiveRegistry([resource("test://open"), resource("test://closed", scope="mcp:manga-tools:lookup_order")])
    opened, closed = (each.run.tool for each in registry.resources.all())
    nobody, customer = Principal(scopes=frozenset()), Principal(scopes=frozenset({"mcp:manga-tools:lookup_order"}))
    assert [allows_tool(opened, nobody), allows_tool(closed, nobody)] == [True, False]
    assert [allows_tool(opened, customer), allows_tool(closed, customer)] == [True, True]


def _found(registry: PrimitiveRegistry, uri: str) -> tuple[str, dict[str, str]]:
    found = registry.find_resource(uri)
    assert found is not None
    served, variables = found
    return getattr(served.value, "uri", None) or served.value.uri_template.text, variables  # type: ignore[union-attr]
