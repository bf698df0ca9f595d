// TypeScript clients generated from the served OpenAPI documents: they must compile under --strict, call, and be right.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { leafUrl, meta, run, url } from '../lib/gateway.mjs';
import { item } from '../lib/purchase.mjs';
import { detail, lookup, missing, newest, published, refused, releases, search } from '../lib/shop.mjs';

const agent = `profile="${meta['ucp-agent'].profile}"`;

async function succeed(program, ...args) {
  const { code, stdout, stderr } = await run(program, args);
  assert.equal(code, 0, stdout + stderr);
}

/** Generates the types of the document at `base` beside the program `name`.ts and compiles both. */
async function compile(base, name, project) {
  await mkdir(project, { recursive: true });
  for (const file of [`${name}.ts`, 'tsconfig.json']) {
    await cp(new URL(`openapi-ts/${file}`, import.meta.url), join(project, file));
  }
  await succeed('openapi-typescript/bin/cli.js', `${base}/openapi.json`, '--output', join(project, 'api.d.ts'));
  await succeed('typescript/bin/tsc', '--project', project);
  return import(pathToFileURL(join(project, `${name}.js`)));
}

const served = [['the root', url, newest], ...published.map((release) => [release, leafUrl(release), release])];

for (const [index, [name, base, release]] of served.entries()) {
  suite(`the document of ${name}`, () => {
    let document;
    let client;
    before(async () => {
      document = await (await fetch(`${base}/openapi.json`)).json();
      const { shop } = await compile(base, 'client', join(process.env.LANE_DIR, `project-${index}`));
      client = shop(document.servers[0].url, agent);
    });

    test('search', async () => search.check(await client.search('runner pro', 'USD'), release));
    test('lookup', async () => lookup.check(await client.lookup(lookup.request.ids), release));
    test('a product page', async () => detail.check(await client.page('prod_abc123', 'Color', 'Blue'), release));
    test('a product that is not there', async () => missing.check(await client.page('prod_unknown', 'Color', 'Blue'), release));

    test('a purchase', async () => {
      const bought = await client.buy(item, 'mock_payment_handler', 'success_token', randomUUID());
      assert.deepEqual(bought, { status: 'completed', total: 2_099, ordered: 2_099 });
    });

    test('unit prices are typed', async () => assert.ok((await client.unitPrices('coffee')) > 0));

    test('a refused call is typed too', async () => {
      const { status, code, content } = await client.refusal(refused.request.pagination.cursor);
      assert.equal(status, 400);
      assert.equal(code, refused.code);
      assert.ok(content);
    });

    test('it says where the gateway is', () => {
      assert.match(document.openapi, /^3\.1\./);
      assert.equal(document.info.version, release);
      assert.equal(document.servers[0].url, base);
    });
  });
}

for (const release of releases.filter((release) => !published.includes(release))) {
  test(`the document of ${release} has checkouts, and types for refusals`, async () => {
    const { shop, told } = await compile(leafUrl(release), 'founding', join(process.env.LANE_DIR, `project-${release}`));
    const begun = await shop(leafUrl(release), agent).begin(item);
    assert.deepEqual(begun, { status: 'incomplete', total: 1_600, again: true });
    const answer = await fetch(`${leafUrl(release)}/catalog/search`, {
      method: 'POST',
      headers: { 'UCP-Agent': agent, 'Content-Type': 'application/json' },
      body: JSON.stringify(refused.request),
    });
    assert.deepEqual(told(await answer.json()), { status: 'requires_escalation', code: refused.code, severity: 'recoverable' });
  });
}
