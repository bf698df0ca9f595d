// Agents connect by the lines of docs/clients.md and of the shop's first page, as they stand but for the address of the gateway. Nothing
// here has an account: what an agent says about its servers, or its configuration, shows that it took the line.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify, stripVTControlCharacters } from 'node:util';
import { mcpUrl, meta, url } from '../lib/gateway.mjs';

const page = await readFile(join(process.env.REPOSITORY, 'docs/clients.md'), 'utf8');
const installed = join(process.env.CLIENTS_DIR, 'assistants/node_modules');
const tried = new Set();

/** A block of the page, by the second word of its info. */
function snippet(name) {
  const block = page.split(/^```/m).filter((_, index) => index % 2 === 1).find((text) => text.split('\n')[0].split(' ')[1] === name);
  assert.ok(block, `${name} is on the page`);
  tried.add(name);
  return block.slice(block.indexOf('\n') + 1).replaceAll('http://127.0.0.1:8080/mcp', mcpUrl.href);
}

/** An empty home, and a function that runs commands in the folder of a project of its user. */
async function home(name) {
  const folder = await mkdtemp(join(tmpdir(), `ucp-${name}-`));
  const project = join(folder, 'project');
  await mkdir(project);
  const env = {
    PATH: `${join(installed, '.bin')}:${process.env.PATH}`,
    HOME: folder,
    // The folder is the user's own.
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    DISABLE_AUTOUPDATER: '1',
    NO_COLOR: '1',
  };
  const sh = async (text) => {
    const options = { cwd: project, env, timeout: 150_000, maxBuffer: 2 ** 24 };
    const ran = promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', text], options);
    const { stdout, stderr } = await ran.catch(({ stdout, stderr, message }) => assert.fail(`${message}\n${stdout}\n${stderr}`));
    return stripVTControlCharacters(stdout + stderr);
  };
  return { folder, project, sh };
}

/** The command of an agent on the first page of the shop. */
async function shown(agent) {
  const html = await (await fetch(url, { headers: { Accept: 'text/html' } })).text();
  const [, command] = html.match(new RegExp(`<span>${agent}</span>.*?<code>(.*?)</code>`, 's')) ?? assert.fail(`no command for ${agent}`);
  return command.replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

/** Lists the tools at an address, and searches. */
async function used(address) {
  const client = new Client({ name: 'lane', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(address)));
  const { tools } = await client.listTools();
  assert.ok(tools.some(({ name }) => name === 'search_catalog'));
  const { structuredContent } = await client.callTool({ name: 'search_catalog', arguments: { meta, catalog: { query: 'shoes' } } });
  assert.ok(structuredContent.products.length > 0);
  await client.close();
}

const agents = [
  ['claude-code', 'Claude Code', async (sh, name) => assert.match(await sh('claude mcp list'), new RegExp(`^${name}: ${mcpUrl.href} .*Connected$`, 'm'))],
  ['codex', 'Codex', async (sh, name) => assert.match(await sh(`codex mcp get ${name}`), new RegExp(`url: ${mcpUrl.href}$`, 'm'))],
  ['gemini', 'Gemini CLI', async (sh, name) => assert.match(await sh('gemini mcp list'), new RegExp(`${name}: ${mcpUrl.href} \\(http\\) - Connected`))],
];

for (const [name, agent, check] of agents) {
  test(`${agent} by the line of the page`, async () => {
    const { sh } = await home(name);
    await sh(snippet(name));
    await check(sh, 'shop');
  });

  test(`${agent} by the line of the shop's first page`, async () => {
    const { sh } = await home(name);
    const command = await shown(agent);
    await sh(command);
    await check(sh, command.match(/ ([a-z0-9-]+) (?:--url )?'?https?:/)[1]);
  });
}

const others = [
  ['claude-code-key', async () => {
    const { folder, sh } = await home('claude-code-key');
    await sh(snippet('claude-code-key'));
    const { projects } = JSON.parse(await readFile(join(folder, '.claude.json'), 'utf8'));
    const [{ mcpServers }] = Object.values(projects);
    assert.deepEqual(mcpServers.shop, {
      type: 'http',
      url: `${mcpUrl.href}?tools=catalog,cart,checkout`,
      headers: { Authorization: 'Bearer KEY' },
    });
    await used(mcpServers.shop.url);
  }],
  ['opencode', async () => {
    const { project, sh } = await home('opencode');
    await writeFile(join(project, 'opencode.json'), snippet('opencode'));
    assert.match(await sh('opencode mcp list'), /✓ shop connected/);
  }],
  ['windsurf', async () => {
    const { serverUrl, ...rest } = JSON.parse(snippet('windsurf')).mcpServers.shop;
    assert.deepEqual(rest, {});
    await used(serverUrl);
  }],
  ['ai-sdk', async () => {
    // Beside the packages that it imports.
    const folder = join(process.env.CLIENTS_DIR, 'assistants/snippets');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'shop.mjs'), snippet('ai-sdk'));
    const { shop, tools } = await import(pathToFileURL(join(folder, 'shop.mjs')));
    const found = await tools.search_catalog.execute({ meta, catalog: { query: 'blue running shoes' } }, { toolCallId: '1', messages: [] });
    assert.match(JSON.stringify(found), /Blue Runner/);
    await shop.close();
  }],
];

for (const [name, check] of others) test(name, check);

test('addresses with a query are quoted for shells', () => {
  for (const block of page.split(/^```/m).filter((text, index) => index % 2 === 1 && text.startsWith('sh '))) {
    assert.doesNotMatch(block.replaceAll(/'[^']*'|"[^"]*"/g, ''), /[?*&]/, block);
  }
});

test('every line for an agent is tried', () => {
  const there = [...page.matchAll(/^```(?:sh|js) (\S+)$/gm)].map(([, name]) => name);
  assert.deepEqual(there.filter((name) => !tried.has(name)), []);
});
