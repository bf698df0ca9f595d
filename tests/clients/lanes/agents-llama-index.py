"""LlamaIndex, whose packages go with no other agent's, as in agents-py.py."""

import asyncio

import pytest

from lib.shop import MCP_URL
from lib.shopper import BOUGHT, Model

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


def test_llama_index(model):
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.llms.openai_like import OpenAILike
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    async def session():
        tools = await McpToolSpec(client=BasicMCPClient(MCP_URL)).to_tool_list_async()
        stand_in = OpenAILike(
            model="shopper",
            api_base=f"{model.url}/v1",
            api_key="none",
            is_chat_model=True,
            is_function_calling_model=True,
            context_window=100_000,
        )
        return await FunctionAgent(tools=tools, llm=stand_in).run(TASK)

    bought(model, run(session()))
