"""The second generation of PyPI `mcp`: asking the server which era it is of, and forced to the handshake."""

import pytest
from mcp import Client, MCPError, StdioServerParameters

from lib.mcp_suite import suite, use
from lib.shop import MCP_URL, stdio_command


def connection(server, mode):
    return lambda: Client(server(), mode=mode)


def stdio():
    command, args = stdio_command("mcp-2")
    return StdioServerParameters(command=command, args=args)


CONNECTIONS = {
    "http-auto": connection(lambda: MCP_URL, "auto"),
    "http-legacy": connection(lambda: MCP_URL, "legacy"),
    "stdio-auto": connection(stdio, "auto"),
    "stdio-legacy": connection(stdio, "legacy"),
}

LEAVES = {f"http-{mode}": lambda url, mode=mode: Client(url, mode=mode) for mode in ("auto", "legacy")}

TestMcp = suite(
    CONNECTIONS,
    LEAVES,
    error=MCPError,
    schema=lambda tool: (tool.input_schema, tool.output_schema),
    structured=lambda result: result.structured_content,
    failed=lambda result: result.is_error,
)


@pytest.mark.parametrize("name", CONNECTIONS)
def test_negotiates_the_protocol_version(name):
    async def version(client):
        return client.protocol_version

    expected = "2026-07-28" if name.endswith("auto") else "2025-11-25"
    assert use(CONNECTIONS[name], version) == expected
