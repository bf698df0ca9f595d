"""PyPI `mcp` 1.8.1, which names no version of MCP after its handshake: a refusal or an unknown method ends no session."""

import asyncio
import warnings

import pytest
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client

from lib.shop import MCP_URL
from lib.shopper import BOUGHT, TOLD, shop_with_async

warnings.simplefilter("ignore")


def test_a_session_survives_refusals_and_buys():
    async def session():
        async with (
            asyncio.timeout(60),
            streamablehttp_client(MCP_URL) as (reading, writing, _),
            ClientSession(reading, writing) as client,
        ):
            agreed = await client.initialize()
            assert agreed.protocolVersion == "2024-11-05"
            assert agreed.serverInfo.name == "ucp-gateway" and "Currencies: USD" in agreed.instructions
            for ask in (client.list_prompts, client.list_resources):
                with pytest.raises(McpError):
                    await ask()
            with pytest.raises(McpError):
                await client.call_tool("buy_everything", {})
            assert {"search_catalog", "complete_checkout"} <= {tool.name for tool in (await client.list_tools()).tools}

            async def call(tool, arguments):
                result = await client.call_tool(tool, arguments)
                text = result.content[0].text
                assert result.isError == all(words in text for words in TOLD)
                return text

            said = await shop_with_async(call)
            await client.send_ping()
            return said

    said = asyncio.run(session())
    assert said.startswith(BOUGHT), said
