// docs/quickstart-client.md as it stands: its commands generate clients from the documents of a gateway, its programs compile under
// --strict and buy. Clients of the releases without a catalog are compiled.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { leafUrl, url } from '../lib/gateway.mjs';
import { published, releases } from '../lib/shop.mjs';

const page = await readFile(join(process.env.REPOSITORY, 'docs/quickstart-client.md'), 'utf8');

/** The blocks of the page by their info, such as `sh orval`. */
const blocks = new Map(
  page
    .split(/^```/m)
    .filter((_, index) => index % 2 === 1)
    .map((block) => [block.slice(0, block.indexOf('\n')), block.slice(block.indexOf('\n') + 1)])
    .filter(([info]) => info.includes(' ')),
);
const tried = new Set();

/** A block of the page, for the gateway at `base`. */
function block(info, base) {
  const text = blocks.get(info);
  assert.ok(text, `${info} is on the page`);
  tried.add(info);
  return text.replaceAll('http://127.0.0.1:8080', base);
}

/** Runs commands in a folder, and gives what they print. */
async function sh(text, cwd) {
  const options = { cwd, timeout: 240_000, maxBuffer: 2 ** 26 };
  const ran = promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', text], options);
  const { stdout } = await ran.catch(({ stdout, stderr }) => assert.fail(`${stdout}\n${stderr}`.slice(-6000)));
  return stdout;
}

/** The commands without the last one, which runs the program, and with the client for what is compiled. */
const generating = (commands, client) => {
  const rest = commands.trimEnd().split('\n').slice(0, -1).join('\n');
  return client ? rest.replace(' buy.ts', ` ${client}`) : rest;
};

/** What the generator calls a type that has no title: its kind, and eight characters of a hash. */
const unnamed = /^(?:Any|String|Integer|Number|Boolean|Null|Object(?:Of\w*)?|UnorderedSetOf\w*|(?:One|Any|All)Of\w*)\w{8}$/;

// By name: the file of the client that is compiled alone, if the commands do not name it anyway.
const generators = { 'openapi-typescript': 'api.d.ts', orval: 'shop.ts', oazapfts: 'shop.ts', openrpc: undefined };

for (const [name, client] of Object.entries(generators)) {
  suite(name, () => {
    for (const release of releases) {
      const buys = published.includes(release);
      test(`${release}: a client ${buys ? 'buys' : 'compiles'}`, async () => {
        // One for all releases, so that packages are installed once.
        const folder = join(process.env.LANE_DIR, name);
        const base = leafUrl(release);
        await mkdir(folder, { recursive: true });
        await sh(block('sh project', base), folder);
        await writeFile(join(folder, 'purchase.ts'), block('ts purchase.ts', base));
        if (name === 'orval') await writeFile(join(folder, 'orval.config.mjs'), block('js orval.config.mjs', base));
        const commands = block(`sh ${name}`, base);
        const program = block(`ts ${name}`, base);
        await writeFile(join(folder, 'buy.ts'), buys ? program : '');
        const printed = await sh(buys ? commands : generating(commands, client), folder);
        if (buys) assert.match(printed, /^completed \S+$/m);

        if (name === 'openrpc') {
          const generated = await readFile(join(folder, 'client/typescript/src/index.ts'), 'utf8');
          const names = [...generated.matchAll(/^export (?:type|interface) (\w+)/gm)].map(([, type]) => type);
          for (const wanted of ['Meta', 'KeyedMeta', 'Checkout', 'CreateCheckoutResult']) assert.ok(names.includes(wanted), wanted);
          // The union of everything is the generator's own.
          assert.deepEqual(names.filter((type) => unnamed.test(type) && !type.startsWith('AnyOfMeta')), []);
          assert.equal(new Set(names).size, names.length, 'each name is that of one type');
        }
      });
    }
  });
}

test('python: a client buys', async () => {
  const folder = join(process.env.LANE_DIR, 'python');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'buy.py'), block('python buy.py', url));
  assert.match(await sh(block('sh python', url), folder), /^completed \S+$/m);
});

test('every block is tried', () => assert.deepEqual([...blocks.keys()].filter((info) => !tried.has(info)), []));
