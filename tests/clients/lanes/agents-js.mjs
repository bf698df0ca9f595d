// Agents of JavaScript's frameworks, on a stand-in model: each lists, searches, is refused, reads why, corrects itself, and
// buys. What the stand-in does is in lib/shopper.py: it goes on only with what the framework has told it.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { mcpUrl } from '../lib/gateway.mjs';
import { readRefusal, startModel, task } from '../lib/shopper.mjs';

const timeout = 90_000;
let model;
beforeEach(async ({ name }) => {
  model = await startModel(name.replaceAll(/\W+/g, '-'));
});
afterEach(() => model.stop());

for (const api of ['responses', 'chat completions']) {
  test(`@openai/agents over ${api}`, { timeout }, async () => {
    const { Agent, MCPServerStreamableHttp, OpenAIChatCompletionsModel, OpenAIResponsesModel, run, setTracingDisabled } =
      await import('@openai/agents');
    const { default: OpenAI } = await import('openai');
    setTracingDisabled(true);
    const client = new OpenAI({ baseURL: `${model.url}/v1`, apiKey: 'none' });
    const Model = api === 'responses' ? OpenAIResponsesModel : OpenAIChatCompletionsModel;
    const shop = new MCPServerStreamableHttp({ url: String(mcpUrl), name: 'shop' });
    await shop.connect();
    try {
      const agent = new Agent({ name: 'Shopper', instructions: 'Buy.', model: new Model(client, 'shopper'), mcpServers: [shop] });
      await model.bought((await run(agent, task)).finalOutput);
    } finally {
      await shop.close();
    }
  });
}

test('langchain', { timeout }, async () => {
  const { createAgent } = await import('langchain');
  const { ChatOpenAI } = await import('@langchain/openai');
  const { MultiServerMCPClient } = await import('@langchain/mcp-adapters');
  const shop = new MultiServerMCPClient({ mcpServers: { shop: { transport: 'http', url: String(mcpUrl) } } });
  try {
    const chat = new ChatOpenAI({ model: 'shopper', apiKey: 'none', configuration: { baseURL: `${model.url}/v1` } });
    const agent = createAgent({ model: chat, tools: await shop.getTools() });
    const answer = await agent.invoke({ messages: [{ role: 'user', content: task }] });
    await model.bought(answer.messages.at(-1).content);
  } finally {
    await shop.close();
  }
});

test('@ai-sdk/mcp', { timeout }, async () => {
  const { generateText, stepCountIs } = await import('ai');
  const { createMCPClient } = await import('@ai-sdk/mcp');
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const shop = await createMCPClient({ transport: { type: 'http', url: String(mcpUrl) } });
  try {
    const provider = createOpenAICompatible({ name: 'stand-in', baseURL: `${model.url}/v1` });
    const { text } = await generateText({ model: provider('shopper'), tools: await shop.tools(), stopWhen: stepCountIs(8), prompt: task });
    await model.bought(text);
  } finally {
    await shop.close();
  }
});

test('@mastra/core', { timeout }, async () => {
  const { Agent } = await import('@mastra/core/agent');
  const { MCPClient } = await import('@mastra/mcp');
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
  const shop = new MCPClient({ servers: { shop: { url: new URL(mcpUrl) } } });
  try {
    const provider = createOpenAICompatible({ name: 'stand-in', baseURL: `${model.url}/v1` });
    const agent = new Agent({ id: 'shopper', name: 'Shopper', instructions: 'Buy.', model: provider('shopper'), tools: await shop.listTools() });
    const { text } = await agent.generate(task, { maxSteps: 8 });
    await model.bought(text);
  } finally {
    await shop.disconnect();
  }
});

test('@modelcontextprotocol/sdk 1.11.0: a session survives refusals and buys', { timeout }, async () => {
  const { Client } = await import('sdk-1-11/client/index.js');
  const { StreamableHTTPClientTransport } = await import('sdk-1-11/client/streamableHttp.js');
  const client = new Client({ name: 'lane', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl)));
  try {
    assert.equal(client.getServerVersion().name, 'ucp-gateway');
    assert.match(client.getInstructions(), /Currencies: USD/);
    await assert.rejects(client.listPrompts(), { code: -32601 });
    await assert.rejects(client.callTool({ name: 'buy_everything', arguments: {} }), { code: -32602 });
    assert.ok((await client.listTools()).tools.some(({ name }) => name === 'complete_checkout'));
    const said = await model.shop(async (name, args) => readRefusal(await client.callTool({ name, arguments: args })));
    assert.match(said, /^Bought /);
    await client.ping();
  } finally {
    await client.close();
  }
});
