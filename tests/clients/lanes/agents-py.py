"""Agents of Python's frameworks, on a stand-in model: each lists, searches, is refused, reads why, corrects itself, and buys.

What the stand-in does is in lib/shopper.py: it goes on only with what the framework has told it.
"""

import asyncio

import pytest

from lib.shop import MCP_URL
from lib.shopper import BOUGHT, Model, decide

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


def openai(model):
    return {"base_url": f"{model.url}/v1", "api_key": "none"}


def test_langchain(model):
    from langchain.agents import create_agent
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_openai import ChatOpenAI

    async def session():
        shop = MultiServerMCPClient({"shop": {"transport": "streamable_http", "url": MCP_URL}})
        agent = create_agent(ChatOpenAI(model="shopper", **openai(model)), await shop.get_tools())
        answer = await agent.ainvoke({"messages": [{"role": "user", "content": TASK}]})
        return answer["messages"][-1].content

    bought(model, run(session()))


@pytest.mark.parametrize("api", ["responses", "chat_completions"])
def test_openai_agents(model, api):
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStreamableHttp
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    kind = {"responses": OpenAIResponsesModel, "chat_completions": OpenAIChatCompletionsModel}[api]

    async def session():
        async with MCPServerStreamableHttp(params={"url": MCP_URL}) as shop:
            stand_in = kind("shopper", openai_client=AsyncOpenAI(**openai(model)))
            agent = Agent(name="Shopper", instructions="Buy.", mcp_servers=[shop], model=stand_in)
            return (await Runner.run(agent, TASK)).final_output

    bought(model, run(session()))


def test_smolagents(model):
    from smolagents import MCPClient, OpenAIModel, ToolCallingAgent

    with MCPClient({"url": MCP_URL, "transport": "streamable-http"}, structured_output=False) as tools:
        stand_in = OpenAIModel(model_id="shopper", api_base=f"{model.url}/v1", api_key="none")
        agent = ToolCallingAgent(tools=tools, model=stand_in, max_steps=8, verbosity_level=0)
        bought(model, str(agent.run(TASK)))


def test_autogen(model):
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient
    from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpServerParams

    info = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown", "structured_output": False}

    async def session():
        async with McpWorkbench(StreamableHttpServerParams(url=MCP_URL)) as shop:
            stand_in = OpenAIChatCompletionClient(model="shopper", model_info=info, **openai(model))
            agent = AssistantAgent("shopper", stand_in, workbench=shop, max_tool_iterations=8)
            return (await agent.run(task=TASK)).messages[-1].content

    bought(model, run(session()))


def test_semantic_kernel(model):
    from openai import AsyncOpenAI
    from semantic_kernel.agents import ChatCompletionAgent
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
    from semantic_kernel.connectors.mcp import MCPStreamableHttpPlugin

    async def session():
        async with MCPStreamableHttpPlugin(name="shop", url=MCP_URL) as shop:
            service = OpenAIChatCompletion(ai_model_id="shopper", async_client=AsyncOpenAI(**openai(model)))
            agent = ChatCompletionAgent(service=service, name="shopper", plugins=[shop])
            return (await agent.get_response(messages=TASK)).content

    bought(model, run(session()))


def test_google_adk(model):
    """Its model is asked by a class of its own."""
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
    from google.genai import types

    class Shopper(BaseLlm):
        async def generate_content_async(self, request, stream=False):
            parts = [part for content in request.contents for part in content.parts or []]
            results = [str(part.function_response.response) for part in parts if part.function_response]
            results = [result.encode().decode("unicode_escape", "replace") for result in results]
            tool, said = decide(results)
            model.turns.append({"results": results})
            if tool:
                part = types.Part(function_call=types.FunctionCall(name=tool, args=said))
            else:
                part = types.Part(text=said)
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    async def session():
        shop = McpToolset(connection_params=StreamableHTTPConnectionParams(url=MCP_URL))
        agent = LlmAgent(name="shopper", model=Shopper(model="shopper"), instruction="Buy.", tools=[shop])
        runner = InMemoryRunner(agent=agent, app_name="lane")
        buyer = await runner.session_service.create_session(app_name="lane", user_id="buyer")
        said = ""
        task = types.Content(role="user", parts=[types.Part(text=TASK)])
        async for event in runner.run_async(user_id="buyer", session_id=buyer.id, new_message=task):
            said = "".join(part.text or "" for part in event.content.parts) or said
        await shop.close()
        return said

    bought(model, run(session()))


def test_mcp_use(model):
    from langchain_openai import ChatOpenAI
    from mcp_use import MCPAgent, MCPClient

    async def session():
        client = MCPClient({"mcpServers": {"shop": {"url": MCP_URL}}})
        agent = MCPAgent(llm=ChatOpenAI(model="shopper", **openai(model)), client=client, max_steps=20)
        try:
            return await agent.run(TASK)
        finally:
            await client.close_all_sessions()

    bought(model, run(session()))
