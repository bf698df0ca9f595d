// A TypeScript client generated from the served OpenAPI document: it must compile under --strict, call, and be right.
import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { meta, run, url } from '../lib/gateway.mjs';
import { detail, lookup, missing, refused, search } from '../lib/shop.mjs';

const project = join(process.env.LANE_DIR, 'project');
const agent = `profile="${meta['ucp-agent'].profile}"`;
let client;

async function succeed(program, ...args) {
  const { code, stdout, stderr } = await run(program, args);
  assert.equal(code, 0, stdout + stderr);
}

before(async () => {
  await cp(new URL('openapi-ts', import.meta.url), project, { recursive: true });
  await succeed('openapi-typescript/bin/cli.js', `${url}/openapi.json`, '--output', join(project, 'api.d.ts'));
  await succeed('typescript/bin/tsc', '--project', project);
  const { shop } = await import(pathToFileURL(join(project, 'client.js')));
  client = shop(url, agent);
});

test('search', async () => search.check(await client.search('runner pro', 'USD')));
test('lookup', async () => lookup.check(await client.lookup(lookup.request.ids)));
test('a product page', async () => detail.check(await client.page('prod_abc123', 'Color', 'Blue')));
test('a product that is not there', async () => missing.check(await client.page('prod_unknown', 'Color', 'Blue')));

test('a refused call is typed too', async () => {
  const { status, code, content } = await client.refusal(refused.request.pagination.cursor);
  assert.equal(status, 400);
  assert.equal(code, refused.code);
  assert.ok(content);
});

test('the document says where the gateway is', async () => {
  const document = await (await fetch(`${url}/openapi.json`)).json();
  assert.match(document.openapi, /^3\.1\./);
  assert.ok(document.info.version);
  assert.equal(new URL(document.servers[0].url).origin, url);
});
