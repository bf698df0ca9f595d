"""What every MCP client of the lanes does, whichever release of PyPI `mcp` it is.

A lane gives `connections`: by name, functions that return an async context manager whose value has `list_tools()` and
`call_tool(name, arguments)`. It also says how its release names what they return.
"""

import asyncio
import json

import pytest

from lib.shop import BROWSE, CALLS, META, REFUSED, TOOLS


def use(connect, action):
    """Connects, acts, and disconnects. One connection per test: the SDK's scopes may not cross tasks."""

    async def session():
        async with asyncio.timeout(30):
            async with connect() as client:
                return await action(client)

    return asyncio.run(session())


def suite(connections, *, error, schema, structured):
    """Declares the tests. `error` is the SDK's exception, `schema` and `structured` read a tool and a result."""
    over = pytest.mark.parametrize("connect", connections.values(), ids=connections.keys())

    class Suite:
        @over
        def test_lists_the_tools_each_with_schemas(self, connect):
            listed = use(connect, lambda client: client.list_tools())
            tools = {tool.name: tool for tool in listed.tools}
            assert TOOLS <= tools.keys()
            for name in TOOLS:
                assert tools[name].description
                takes, gives = schema(tools[name])
                assert "catalog" in takes["required"]
                # The SDK checks every answer against it, in the calls below.
                assert gives["type"] == "object"

        @over
        @pytest.mark.parametrize("tool, payload, check", CALLS, ids=[f"{call[0]}-{call[1].get('id', '')}" for call in CALLS])
        def test_calls(self, connect, tool, payload, check):
            async def call(client):
                # Listing first is what makes the SDK check the answer against the tool's schema.
                await client.list_tools()
                return await client.call_tool(tool, {"meta": META, "catalog": payload})

            result = use(connect, call)
            answer = structured(result)
            check(answer)
            assert json.loads(result.content[0].text) == answer, "the text says the same as the structure"

        @over
        def test_every_kind_of_product_fits_the_schemas(self, connect):
            async def call(client):
                await client.list_tools()
                page = await client.call_tool("search_catalog", {"meta": META, "catalog": BROWSE})
                ids = [product["id"] for product in structured(page)["products"]]
                assert len(ids) == 50
                for id in ids:
                    detail = await client.call_tool("get_product", {"meta": META, "catalog": {"id": id}})
                    assert structured(detail)["product"]["id"] == id

            use(connect, call)

        @over
        def test_is_told_why_a_call_was_refused(self, connect):
            tool, payload, code = REFUSED

            async def call(client):
                with pytest.raises(error) as refusal:
                    await client.call_tool(tool, {"meta": META, "catalog": payload})
                return refusal.value.error

            told = use(connect, call)
            assert told.code == -32602
            assert told.data["code"] == code

    return Suite
