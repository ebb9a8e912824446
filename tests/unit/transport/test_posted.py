"""The edge parses every message that the SDK parses: an unread one would pass unbounded and unchecked."""

from __future__ import annotations

import json

from mcp_types import INTERNAL_ERROR, INVALID_REQUEST

from server.transport.http.bodies import MOST_BYTES, Admission
from server.transport.http.slots import METHOD, Subscriptions
from server.transport.messages import Extensions, Posted, error_for, read_message, trim_initialize
from tests.support.cases import cases
from tests.support.raw import INITIALIZE, message
from tools.primitives.resource import Extension

LISTEN = json.dumps(message(METHOD, {"x": "n" * MOST_BYTES}))
LENIENT = {
    "half a surrogate": LISTEN.replace("nn", "\\ud800", 1).encode(),
    "a byte order mark": LISTEN.encode("utf-8-sig"),
    "two methods": LISTEN.replace("{", '{"method":"tools/call",', 1).encode(),
}


@cases("body", LENIENT.values(), ids=LENIENT.keys())
def test_any_message_the_sdk_can_parse_is_admitted_by_its_method(body: bytes) -> None:
    json.loads(body)  # which is what the SDK reads the 2026 era with
    posted = Posted.from_body(body)
    assert posted is not None
    assert (posted.method, posted.number, posted.has_bad_id) == (METHOD, 1, False)
    assert posted.is_strict == (body is LENIENT["two methods"])
    refused = Admission(Subscriptions()).refusal({"type": "http"}, posted.method, len(body))
    assert refused is not None
    assert refused.status_code == 413


def test_initialize_with_a_lone_surrogate_is_trimmed_too() -> None:
    body = json.dumps({**INITIALIZE, "more": "x"}).replace('"x"', '"\\ud800"').encode("utf-8-sig")
    assert json.loads(trim_initialize(read_message(body))) == INITIALIZE


@cases("body", [b"", b"{", b"[]", b"\xff", b"9" * 5000, b"[" * 100_000, b"{}", b'{"method": 1}', b'"tools/list"'])
def test_unparsable_body_is_no_message(body: bytes) -> None:
    assert Posted.from_body(body) is None


@cases("number", [None, 1.5, True, [], {}], ids=repr)
def test_id_that_is_neither_string_nor_whole_number_is_bad(number: object) -> None:
    posted = Posted.from_body(json.dumps({"method": METHOD, "id": number}).encode())
    assert posted is not None
    assert posted.has_bad_id


@cases("number", [0, -1, "", "x", 2**70], ids=repr)
def test_string_and_whole_number_are_ids_and_nothing_else_is_answered(number: object) -> None:
    posted = Posted.from_body(json.dumps({"method": METHOD, "id": number, "params": [1]}).encode())
    assert posted is not None
    assert (posted.number, posted.has_bad_id, posted.params) == (number, False, {})
    note = Posted.from_body(json.dumps({"method": METHOD, "params": {"a": 1}}).encode())
    assert note is not None
    assert (note.number, note.has_bad_id, note.params) == (None, False, {"a": 1})


def test_initialize_is_trimmed_to_what_is_used_and_what_is_malformed_stays_so() -> None:
    """Texts are kept up to 128 characters."""
    long, more = "x" * 129, {"more": "x"}
    message = {"jsonrpc": "2.0", "id": long, "method": "initialize", **more}
    told = json.loads(trim_initialize({**message, "params": {"protocolVersion": long, "capabilities": [1], **more}}))
    kept = {"jsonrpc": "2.0", "id": "x" * 128, "method": "initialize"}
    assert told == {**kept, "params": {"protocolVersion": "x" * 128, "capabilities": None}}
    info = {"name": long, "version": 7, "title": "x"}
    told = json.loads(trim_initialize({**message, "params": {"protocolVersion": 1.5, "clientInfo": info}}))
    assert told["params"] == {"protocolVersion": None, "clientInfo": {"name": "x" * 128, "version": 7}}
    assert json.loads(trim_initialize({**message, "params": {"clientInfo": "x"}}))["params"] == {"clientInfo": None}
    for params in ({}, {"name": 1}):
        assert json.loads(trim_initialize({**message, "params": params}))["params"] == {}
    assert json.loads(trim_initialize({**message, "params": [1]})) == kept
    for number, known in ((7, 7), ("7", "7"), (None, None), (True, None), (1.5, None), ([], None)):
        error = error_for("Not so.", number)
        assert (error.id, error.error.code, error.error.message) == (known, INVALID_REQUEST, "Not so.")
    assert error_for("Not so.", 7, INTERNAL_ERROR).error.code == INTERNAL_ERROR


def test_names_of_client_capabilities_are_kept_without_their_contents() -> None:
    declared = {"elicitation": {"form": {"x": "y" * 1000}}, "sampling": {}, "roots": None, "experimental": {"z": {}}}
    params = {**INITIALIZE["params"], "capabilities": declared}
    kept = json.loads(trim_initialize({**INITIALIZE, "params": params}))
    assert kept["params"]["capabilities"] == {"elicitation": {}, "sampling": {}}


def test_only_understood_extensions_are_kept() -> None:
    spoken = Extensions(
        [Extension(name="org.example/pages", understood=lambda said: {"yes": True} if said == "yes" else None)]
    )
    junk = {"x" * 1000: {"deep": [[[["y" * 1000]]]]}, "org.example/other": {}}
    for declared, kept in (("yes", {"org.example/pages": {"yes": True}}), ("no", None), ({"yes": [{}]}, None), (None, None)):
        capabilities = {"roots": {}, "extensions": {**junk, "org.example/pages": declared}}
        params = {**INITIALIZE["params"], "capabilities": capabilities}
        body = json.dumps({**INITIALIZE, "params": params}).encode()
        told = json.loads(trim_initialize(read_message(body), spoken))["params"]["capabilities"]
        assert told == {"roots": {}, **({"extensions": kept} if kept else {})}
        assert json.loads(trim_initialize(read_message(body)))["params"]["capabilities"] == {"roots": {}}


@cases("declared", [None, [], "x", 7, {}, {"org.example/pages": 7}], ids=repr)
def test_malformed_extensions_are_ignored(declared: object) -> None:
    spoken = Extensions([Extension(name="org.example/pages", understood=lambda said: None)])
    assert spoken.read_settings(declared) == {}
