"""Every list of tools, judged by what others wrote to make a model's tools of it.

Checkers that do not agree about their packages run in an environment of their own (`listing/others.py`), and MCP's
inspector is a program of npm. The rules of VS Code are written down here from microsoft/vscode-copilot-chat at commit
31acd00 (`src/extension/tools/common/toolSchemaNormalizer.ts`), which no package has.
"""

import copy
import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path

import mcp.types
import pytest
from agents.strict_schema import ensure_strict_json_schema
from anthropic.lib.tools.mcp import mcp_tool
from google.adk.tools._gemini_schema_util import _to_gemini_schema
from google.genai._mcp_utils import mcp_to_gemini_tool
from jsonschema import Draft7Validator, Draft202012Validator
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

RELEASES = ["2026-01-11", "2026-01-23", "2026-04-08", "2026-08-25"]
ENDPOINTS = ["/mcp", *(f"/ucp/{release}/mcp" for release in RELEASES)]
FORMS = ["outline", "full"]


def listed(endpoint, form):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    url = f"{os.environ['UCP_GATEWAY_URL']}{endpoint}?schemas={form}"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["result"]["tools"]


LISTS = {f"{endpoint} {form}": listed(endpoint, form) for endpoint in ENDPOINTS for form in FORMS}
every_list = pytest.mark.parametrize("tools", LISTS.values(), ids=LISTS.keys())


def schemas(tool):
    return [tool[side] for side in ("inputSchema", "outputSchema") if side in tool]


def nodes(schema, path="$"):
    """Every schema below a schema, itself included, with its path."""
    yield path, schema
    if not isinstance(schema, dict):
        return
    for keyword in ("properties", "$defs"):
        for name, member in schema.get(keyword, {}).items():
            yield from nodes(member, f"{path}.{name}")
    for keyword in ("items", "additionalProperties", "propertyNames", "not"):
        if keyword in schema:
            yield from nodes(schema[keyword], f"{path}[{keyword}]")
    for keyword in ("anyOf", "oneOf", "allOf"):
        for choice in schema.get(keyword, []):
            yield from nodes(choice, f"{path}|")


@every_list
def test_no_schema_leaves_its_type_open(tools):
    assert {"search_catalog", "get_product", "create_checkout", "complete_checkout"} <= {tool["name"] for tool in tools}
    for tool in tools:
        for schema in schemas(tool):
            for path, node in nodes(schema):
                where = f"{tool['name']} {path}: {node}"
                assert isinstance(node, dict) and node, where
                assert any(keyword in node for keyword in ("type", "$ref", "anyOf")), where
                assert node.get("type") != "array" or node["items"], where


@every_list
def test_vs_code(tools):
    """It ends the whole chat for these, or changes what is listed."""
    dropped = {"oneOf", "anyOf", "allOf", "not", "if", "then", "else"}
    for tool in tools:
        schema = tool["inputSchema"]
        assert tool["description"] and schema["type"] == "object" and isinstance(schema["properties"], dict)
        Draft7Validator.check_schema(schema)
        assert not dropped & schema.keys(), tool["name"]
        for path, node in nodes(schema):
            assert node.get("type") != "array" or isinstance(node["items"], dict), (tool["name"], path)
            assert len(node.get("description", "")) <= 1_024, (tool["name"], path)
            assert not isinstance(node.get("type"), list), (tool["name"], path)
            if node.get("type") == "object" and "properties" in node:
                assert set(node.get("required", [])) <= node["properties"].keys(), (tool["name"], path)


@every_list
def test_openai_agents_makes_strict_schemas(tools):
    for tool in tools:
        strict = ensure_strict_json_schema(copy.deepcopy(tool["inputSchema"]))
        for path, node in nodes(strict):
            if isinstance(node, dict) and node.get("type") == "object":
                assert node["additionalProperties"] is False, (tool["name"], path)


@every_list
@pytest.mark.parametrize("strict", [True, False, None])
def test_pydantic_ai_transforms_for_openai(tools, strict):
    for tool in tools:
        transformed = OpenAIJsonSchemaTransformer(copy.deepcopy(tool["inputSchema"]), strict=strict).walk()
        for path, node in nodes(transformed):
            if path.endswith("[additionalProperties]") and node is False:
                continue
            assert isinstance(node, dict) and node, (tool["name"], path)
            assert node.get("type") != "array" or node["items"], (tool["name"], path)


@every_list
def test_the_limits_of_openai_and_anthropic(tools):
    for tool in tools:
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool["name"])
        assert 20 <= len(tool["description"]) <= 1_024, tool["name"]
        names = total = 0
        for path, node in nodes(tool["inputSchema"]):
            for name in node.get("properties", {}):
                assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name), (tool["name"], path, name)
                names, total = names + 1, total + len(name)
            # Levels of objects; an array is none of its own.
            assert path.count(".") <= 10, (tool["name"], path)
        assert names <= 5_000 and total <= 120_000, tool["name"]
        Draft202012Validator.check_schema(tool["inputSchema"])


@every_list
def test_anthropic_takes_the_tools(tools):
    for tool in tools:
        made = mcp_tool(mcp.types.Tool.model_validate(tool), None).to_dict()
        assert made["name"] == tool["name"] and made["input_schema"] == tool["inputSchema"]


def assert_same_types(told, schema, path="$"):
    """A schema for Gemini has the type of each member; a choice has none of its own."""
    if "anyOf" not in schema:
        assert told.type.value.lower() == schema["type"], (path, told.type)
    for name, inner in schema.get("properties", {}).items():
        assert_same_types(told.properties[name], inner, f"{path}.{name}")
    if "items" in schema:
        assert_same_types(told.items, schema["items"], f"{path}[]")


@every_list
def test_gemini_is_told_the_types_by_google_genai(tools):
    for tool in tools:
        declared = mcp_to_gemini_tool(mcp.types.Tool.model_validate(tool)).function_declarations[0]
        assert_same_types(declared.parameters, tool["inputSchema"], tool["name"])


@every_list
def test_gemini_is_told_the_types_by_adk(tools):
    for tool in tools:
        assert_same_types(_to_gemini_schema(copy.deepcopy(tool["inputSchema"])), tool["inputSchema"], tool["name"])


@pytest.fixture(scope="session")
def others(tmp_path_factory):
    """What the checkers of the other environment say, by list."""
    lists = tmp_path_factory.mktemp("lists") / "lists.json"
    lists.write_text(json.dumps(LISTS))
    python = Path(os.environ["CLIENTS_DIR"]) / "venv/listing-others/bin/python"
    script = Path(__file__).parent / "listing/others.py"
    environment = os.environ | {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
    done = subprocess.run([python, script, lists], capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("checker", ["autogen", "crewai", "crewai-tools"])
def test_other_frameworks(others, name, checker):
    assert others[name][checker] == []


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("form", FORMS)
def test_the_inspector_has_no_warning(endpoint, form):
    url = f"{os.environ['UCP_GATEWAY_URL']}{endpoint}?schemas={form}"
    inspector = Path(os.environ["CLIENTS_DIR"]) / "node_modules/.bin/mcp-inspector"
    command = [os.environ["NODE"], inspector, "--cli", url, "--transport", "http", "--method", "tools/list", "--strict"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "tools" in json.loads(done.stdout), done.stderr
    assert "Issue:" not in done.stderr and "Warning" not in done.stderr, done.stderr
