"""What every MCP client of the lanes does, whichever release of PyPI `mcp` it is.

A lane gives `connections`: by name, functions that return an async context manager whose value has `list_tools()` and
`call_tool(name, arguments)`. `leaves` are the same, but take the URL of the endpoint of one release of UCP. A lane also
says how its SDK names what they return.
"""

import asyncio
import json

import pytest

from lib.gateway import FETCHING, RUNS, Host, platform_profile, serving
from lib.shop import (
    BROWSE,
    CALLS,
    META,
    NEWEST,
    PUBLISHED,
    REFUSED,
    RELEASES,
    TOOLS,
    URL,
    check_missing,
    purchase_tools,
)
from lib.shopper import BOUGHT, TOLD, shop_with_async


def use(connect, action):
    """Connects, acts, and disconnects. One connection per test: the SDK's scopes may not cross tasks."""

    async def session():
        async with asyncio.timeout(30):
            async with connect() as client:
                return await action(client)

    return asyncio.run(session())


def suite(connections, leaves, *, error, schema, structured, failed):
    """Declares the tests. `error` is the SDK's exception, `schema`, `structured` and `failed` read a tool and a
    result."""
    over = pytest.mark.parametrize("connect", connections.values(), ids=connections.keys())
    over_leaves = pytest.mark.parametrize("connect", leaves.values(), ids=leaves.keys())

    class Suite:
        @pytest.mark.parametrize("name, connect", connections.items(), ids=connections.keys())
        def test_lists_the_tools_each_with_schemas(self, name, connect):
            listed = use(connect, lambda client: client.list_tools())
            tools = {tool.name: tool for tool in listed.tools}
            assert TOOLS <= tools.keys()
            for tool in TOOLS:
                assert tools[tool].description
                takes, gives = schema(tools[tool])
                assert "catalog" in takes["required"]
                if name.startswith("http"):
                    assert gives is None, "the root answers callers in releases of their own"
                else:
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
        def test_finds_merchants_and_where_they_are(self, connect):
            async def call(client):
                await client.list_tools()

                async def ask(tool, **asked):
                    return structured(await client.call_tool(tool, {"meta": META, **asked}))

                # What a tool is asked about merchants stands among its arguments, as the draft has it.
                found = await ask("search_merchants", query="late-night pizza")
                assert found["merchants"][0]["id"] == "mch_abc123"
                merchant = (await ask("get_merchant", id="mch_abc123"))["merchant"]
                nobody = await ask("get_merchant", id="mch_nobody")
                assert "merchant" not in nobody
                assert nobody["messages"][0]["code"] == "NOT_FOUND"
                place = merchant["locations"][0]
                near = await ask("search_locations", location={"distance": {"center": place["geo"], "max": 1}})
                assert place["id"] in [location["id"] for location in near["locations"]]
                looked_up = await ask("lookup_locations", location={"ids": [place["id"]]})
                assert looked_up["locations"][0]["inputs"] == [{"id": place["id"]}]

            use(connect, call)

        @over
        def test_is_told_why_a_call_was_refused(self, connect):
            tool, payload, code = REFUSED

            async def call(client):
                return await client.call_tool(tool, {"meta": META, "catalog": payload})

            told = use(connect, call)
            assert failed(told) and "cursor" in told.content[0].text
            # A structure would have to fit the schema that is listed over stdio.
            assert (structured(told) or {"code": code})["code"] == code

        @over
        def test_lists_searches_is_refused_corrects_itself_and_buys(self, connect):
            async def shop(client):
                await client.list_tools()

                async def call(tool, arguments):
                    result = await client.call_tool(tool, arguments)
                    text = result.content[0].text
                    assert failed(result) == all(words in text for words in TOLD), text
                    return text

                return await shop_with_async(call)

            said = use(connect, shop)
            assert said.startswith(BOUGHT), said

        @over
        def test_is_told_that_there_is_no_such_tool(self, connect):
            async def call(client):
                with pytest.raises(error) as refusal:
                    await client.call_tool("buy_everything", {"meta": META})
                return refusal.value.error

            assert use(connect, call).code == -32602

        @over_leaves
        @pytest.mark.parametrize("release", RELEASES)
        def test_each_release_has_an_endpoint(self, connect, release):
            async def call(client):
                listed = await client.list_tools()
                assert {tool.name for tool in listed.tools} >= TOOLS | purchase_tools(release)
                for tool, payload, check in CALLS:
                    if check is not check_missing:
                        answer = structured(await client.call_tool(tool, {"meta": META, "catalog": payload}))
                        check(answer, release)
                page = structured(await client.call_tool("search_catalog", {"meta": META, "catalog": BROWSE}))
                assert (page["ucp"]["version"], len(page["products"])) == (release, 50)

            use(lambda: connect(leaf(release)), call)

        @over_leaves
        @pytest.mark.parametrize("release", RELEASES)
        def test_a_product_that_is_not_there(self, connect, release):
            async def call(client):
                await client.list_tools()
                return await client.call_tool("get_product", {"meta": META, "catalog": {"id": "prod_unknown"}})

            if release in PUBLISHED:
                return check_missing(structured(use(lambda: connect(leaf(release)), call)), release)

            result = use(lambda: connect(leaf(release)), call)
            assert failed(result) and "Product not found" in result.content[0].text

        @pytest.fixture(scope="class")
        def host(self):
            return Host()

        @pytest.fixture(scope="class")
        def fetching(self):
            """The address of a gateway that fetches profiles."""
            with serving(RUNS / "fetching", FETCHING) as url:
                yield url

        @over_leaves
        @pytest.mark.parametrize("release", RELEASES)
        def test_the_root_answers_in_the_release_of_a_profile_that_is_fetched(self, connect, release, host, fetching):
            profile = host.put(f"/{release}.json", platform_profile(release))

            async def call(client):
                await client.list_tools()
                arguments = {"meta": {"ucp-agent": {"profile": profile}}, "catalog": {**BROWSE, "query": "coffee"}}
                return structured(await client.call_tool("search_catalog", arguments))

            answer = use(lambda: connect(f"{fetching}/mcp"), call)
            assert answer["ucp"]["version"] == release
            # Where releases differ most.
            assert any("unit_price" in product["variants"][0] for product in answer["products"])
            assert host.visits.count(f"/{release}.json") == 1

        @over_leaves
        @pytest.mark.parametrize(
            ("path", "version", "code"),
            [
                ("/mcp", None, "profile_unreachable"),
                ("/mcp", "2029-09-09", "version_unsupported"),
                ("/ucp/2026-04-08/mcp", NEWEST, "version_unsupported"),
            ],
        )
        def test_is_told_what_is_wrong_with_its_profile(self, connect, path, version, code, host, fetching):
            page = f"{path}/{version}.json"
            profile = host.put(page, platform_profile(version)) if version else host.url + page

            async def call(client):
                arguments = {"meta": {"ucp-agent": {"profile": profile}}, "catalog": BROWSE}
                return await client.call_tool("search_catalog", arguments)

            told = use(lambda: connect(fetching + path), call)
            assert failed(told) and structured(told)["code"] == code, told

    return Suite


def leaf(release):
    """Where one release is spoken, whoever calls; with whole schemas, so that the SDK checks every answer."""
    return f"{URL}/ucp/{release}/mcp?schemas=full"
