"""Agents and clients of Python that build on the second generation of PyPI `mcp`, as in agents-py.py."""

import asyncio

import pytest

from lib.shop import MCP_URL
from lib.shopper import BOUGHT, TOLD, Model, shop_with_async

TASK = "Buy a sunrise filter."


@pytest.fixture
def model():
    with Model() as model:
        yield model


def run(session):
    async def bounded():
        async with asyncio.timeout(90):
            return await session

    return str(asyncio.run(bounded()))


def bought(model, said):
    assert BOUGHT in said, said
    assert model.saw_the_refusal(), model.turns


def test_agno(model):
    from agno.agent import Agent
    from agno.models.openai.like import OpenAILike
    from agno.tools.mcp import MCPTools

    async def session():
        async with MCPTools(transport="streamable-http", url=MCP_URL) as shop:
            agent = Agent(model=OpenAILike(id="shopper", base_url=f"{model.url}/v1", api_key="none"), tools=[shop], telemetry=False)
            return (await agent.arun(TASK)).content

    bought(model, run(session()))


def test_pydantic_ai(model):
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def session():
        provider = OpenAIProvider(base_url=f"{model.url}/v1", api_key="none")
        agent = Agent(OpenAIChatModel("shopper", provider=provider), toolsets=[MCPToolset(MCP_URL)])
        async with agent:
            return (await agent.run(TASK)).output

    bought(model, run(session()))


def test_fastmcp():
    """A client without a model."""
    from fastmcp import Client

    async def session():
        async with Client(MCP_URL) as client:
            assert {"search_catalog", "complete_checkout"} <= {tool.name for tool in await client.list_tools()}

            async def call(tool, arguments):
                result = await client.call_tool(tool, arguments, raise_on_error=False)
                text = result.content[0].text
                assert result.is_error == all(words in text for words in TOLD)
                return text

            return await shop_with_async(call)

    said = run(session())
    assert said.startswith(BOUGHT), said
