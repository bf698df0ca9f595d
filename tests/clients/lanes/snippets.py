"""The snippets of docs/clients.md for Python and for clients of shared formats, each with the package that reads it: as they stand, but for the address of the gateway and the
path of the data directory."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

from lib.shop import MCP_URL, PROFILE

PAGE = Path(os.environ["REPOSITORY"], "docs/clients.md").read_text()
META = {"ucp-agent": {"profile": PROFILE}}
SEARCH = {"meta": META, "catalog": {"query": "blue running shoes"}}


def snippet(name):
    """The block of the page whose second word is `name`, for this gateway."""
    fence = "`" * 3
    [block] = [block for block in PAGE.split(f"\n{fence}")[1::2] if block.split("\n")[0].split()[1:] == [name]]
    data = os.path.join(os.environ["LANE_DIR"], f"stdio-{name}")
    return block.split("\n", 1)[1].replace("http://127.0.0.1:8080/mcp", MCP_URL).replace("/home/you/shop", data)


async def searched(streams):
    async with streams as (reading, writing, *_), ClientSession(reading, writing) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        assert {"search_catalog", "complete_checkout"} <= set(tools), tools
        answer = await session.call_tool("search_catalog", SEARCH)
        assert answer.structuredContent["products"], answer


def test_a_server_that_the_client_starts():
    [server] = json.loads(snippet("stdio"))["mcpServers"].values()
    # On the path of a reader; here it is the binary under test.
    assert server.pop("command") == "ucp-gateway"
    parameters = StdioServerParameters(command=os.environ["UCP_GATEWAY_BIN"], **server)
    asyncio.run(searched(stdio_client(parameters)))


@pytest.mark.parametrize("name, list", [("http", "mcpServers"), ("vscode", "servers")])
def test_a_server_that_runs(name, list):
    [server] = json.loads(snippet(name))[list].values()
    assert server.get("type", "http") == "http"
    asyncio.run(searched(streamablehttp_client(server["url"])))


def test_openai_agents(monkeypatch):
    """The model is the only part that is not there: what it would be given is asked for in its place."""
    import agents

    async def run(agent, words):
        tools = {tool.name: tool for tool in await agent.get_mcp_tools(agents.RunContextWrapper(None))}
        [server] = agent.mcp_servers
        answer = await server.call_tool("search_catalog", SEARCH)
        assert "search_catalog" in tools and answer.structuredContent["products"], answer
        assert "blue running shoes" in words

        class Result:
            final_output = "found"

        return Result

    monkeypatch.setattr(agents.Runner, "run", run)
    names = {}
    exec(compile(snippet("openai-agents"), "docs/clients.md", "exec"), names)
    asyncio.run(names["main"]())


def test_langchain():
    names = {}
    exec(compile(snippet("langchain"), "docs/clients.md", "exec"), names)

    async def used():
        tools = {tool.name: tool for tool in await names["tools"]()}
        return await tools["search_catalog"].ainvoke(SEARCH)

    assert "Blue Runner" in str(asyncio.run(used()))


def test_every_snippet_is_tried():
    tried = [("stdio"), ("http"), ("vscode"), ("openai-agents"), ("langchain")]
    fence = "`" * 3
    infos = [block.split("\n")[0].split() for block in PAGE.split(f"\n{fence}")[1::2]]
    # The lane of assistants tries the others, and `tests/it/guide.rs` runs what has no name.
    there = [info[1] for info in infos if info != ["console"]]
    assistants = Path(__file__).with_name("assistants.mjs").read_text()
    assert sorted(tried) == sorted(name for name in there if f"['{name}'," not in assistants)
