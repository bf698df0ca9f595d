"""The first generation of PyPI `mcp`: handshake, protocol versions up to 2025-11-25, over HTTP and stdio."""

from contextlib import asynccontextmanager

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from lib.mcp_suite import suite, use
from lib.shop import MCP_URL, stdio_command


@asynccontextmanager
async def session(transport):
    async with transport as (read, write, *_), ClientSession(read, write) as client:
        client.version = (await client.initialize()).protocolVersion
        yield client


def http(url=MCP_URL):
    return session(streamable_http_client(url))


def stdio():
    command, args = stdio_command("mcp-1")
    return session(stdio_client(StdioServerParameters(command=command, args=args)))


CONNECTIONS = {"http": http, "stdio": stdio}

TestMcp = suite(
    CONNECTIONS,
    {"http": http},
    error=McpError,
    schema=lambda tool: (tool.inputSchema, tool.outputSchema),
    structured=lambda result: result.structuredContent,
    failed=lambda result: result.isError,
)


async def version_after_ping(client):
    await client.send_ping()
    return client.version


def test_negotiates_the_newest_handshake_and_pings():
    for connect in CONNECTIONS.values():
        assert use(connect, version_after_ping) == "2025-11-25"
