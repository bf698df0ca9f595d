// Shopify's `ucp`, as an agent or a person calls it in a shell, and as the MCP server it can be for an agent.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { run, url } from '../lib/gateway.mjs';
import { detail, lookup, missing, refused, search, tools } from '../lib/shop.mjs';

const program = '@shopify/ucp-cli/dist/bin.js';
const env = {
  // Its own name for: plain http on the loopback interface is fine.
  UCP_TEST_ALLOW_INSECURE_LOCALHOST: 'true',
  // Schemas that it cannot resolve are errors instead of going unchecked.
  UCP_STRICT_SCHEMA: '1',
  // A home of its own, and --refresh below: it caches profiles and tools for a minute, and ports are used again.
  UCP_HOME: join(process.env.LANE_DIR, 'ucp-home'),
};

async function ucp(...args) {
  const { code: exit, stdout, stderr } = await run(program, [...args, '--business', url, '--refresh', '--format', 'json'], { env });
  try {
    return { exit, ...JSON.parse(stdout) };
  } catch {
    assert.fail(`ucp ${args.join(' ')} ended with ${exit} and said no JSON: ${stdout}${stderr}`);
  }
}

/** The answer as the gateway gave it: the CLI takes the envelope apart. */
const answerOf = ({ ucp, result }) => ({ ucp, ...result });

test('discovers what the shop offers', async () => {
  const { exit, result } = await ucp('discover');
  assert.equal(exit, 0);
  assert.equal(result.protocol.version, '2026-04-08');
  const { transport, endpoint, tools: offered } = result.negotiated['dev.ucp.shopping'];
  assert.equal(transport, 'mcp');
  assert.equal(endpoint, new URL('/mcp', url).href);
  for (const tool of tools) assert.ok(offered[tool], tool);
  for (const name of ['search', 'lookup']) assert.ok(result.expectedCapabilities.includes(`dev.ucp.shopping.catalog.${name}`));
});

for (const [command, properties] of [
  ['search', ['query', 'filters', 'context', 'pagination']],
  ['lookup', ['ids', 'filters', 'context']],
  // The id of a product is an argument of its own in this CLI.
  ['get_product', ['selected', 'preferences', 'filters', 'context']],
]) {
  test(`shows what ${command} takes`, async () => {
    const { exit, result } = await ucp('catalog', command, '--input-schema');
    assert.equal(exit, 0);
    const schema = result.tool.inputSchema;
    for (const name of properties) assert.ok(schema.properties[name], name);
    // It is shown to an agent on its own, where a reference into the rest of the tool's schema would dangle.
    const references = [...JSON.stringify(schema).matchAll(/"\$ref":"#\/([^"]*)"/g)].map(([, path]) => path);
    for (const path of references) {
      assert.ok(path.split('/').reduce((node, key) => node?.[key], schema), `#/${path} is inside what is shown`);
    }
  });
}

suite('the catalog', () => {
  test('search', async () => {
    const answer = await ucp('catalog', 'search', '--input', JSON.stringify(search.request));
    assert.equal(answer.exit, 0);
    search.check(answerOf(answer));
  });

  test('search as the buyer types, in the view for people', async () => {
    const answer = await ucp('catalog', 'search', '--set', '/query=runner pro', '--view', 'result.products[0].title');
    assert.equal(answer.exit, 0);
    assert.match(JSON.stringify(answer), /Runner Pro/);
  });

  test('lookup of known and unknown ids', async () => {
    const answer = await ucp('catalog', 'lookup', '--input', JSON.stringify(lookup.request));
    assert.equal(answer.exit, 0);
    lookup.check(answerOf(answer));
  });

  test('a product page with a colour chosen', async () => {
    const { id, ...input } = detail.request;
    const answer = await ucp('catalog', 'get_product', id, '--input', JSON.stringify(input));
    assert.equal(answer.exit, 0);
    detail.check(answerOf(answer));
  });

  test('a product that is not there', async () => {
    const answer = await ucp('catalog', 'get_product', missing.request.id);
    assert.equal(answer.exit, 0, 'an answer of the business');
    missing.check(answerOf(answer));
  });
});

test('says why the gateway refused a call', async () => {
  const { exit, code, message } = await ucp('catalog', 'search', '--input', JSON.stringify(refused.request));
  assert.equal(exit, 1);
  assert.equal(code, 'MCP_RPC_ERROR');
  assert.match(message, new RegExp(refused.code));
});

test('checks a call against our schema before it sends it', async () => {
  const { exit, code, message } = await ucp('catalog', 'lookup', '--input', '{"ids":[]}');
  assert.equal(exit, 1);
  assert.equal(code, 'SCHEMA_VALIDATION_FAILED');
  assert.match(message, /\/catalog\/ids/);
});

test('is an MCP server in front of ours', async () => {
  const client = new Client({ name: 'lane', version: '1' });
  const args = [join(process.env.CLIENTS_DIR, 'node_modules', program), '--mcp'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env: { ...process.env, ...env } }));
  try {
    const { id, ...input } = detail.request;
    const result = await client.callTool({
      name: 'catalog_get_product',
      arguments: { id, business: url, input: JSON.stringify(input), refresh: true },
    });
    assert.ok(!result.isError, JSON.stringify(result));
    // Below the answer it says what an agent could do next.
    const [answer] = result.content[0].text.split('\n\n');
    detail.check(answerOf(JSON.parse(answer)));
  } finally {
    await client.close();
  }
});
