// Coding agents, as programs on a stand-in model: each lists, searches, is refused, reads why, corrects itself, and buys. What
// the stand-in does is in lib/shopper.py.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, test } from 'node:test';
import { mcpUrl } from '../lib/gateway.mjs';
import { startModel, task } from '../lib/shopper.mjs';

const timeout = 300_000;
const programs = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules/.bin');
let model;
let home;
beforeEach(async ({ name }) => {
  model = await startModel(name);
  home = join(process.env.LANE_DIR, `home-${name}`);
  await mkdir(home, { recursive: true });
});
afterEach(() => model.stop());

/** Runs a program in a home of its own and gives all that it says. */
async function run(program, args) {
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_DATA_HOME: join(home, '.local') };
  const child = spawn(join(programs, program), args, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeout - 20_000 });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data));
  await once(child, 'close');
  return said;
}

test('codex', { timeout }, async () => {
  await mkdir(join(home, '.codex'));
  await writeFile(
    join(home, '.codex/config.toml'),
    `model = "shopper"
model_provider = "standin"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.standin]
name = "standin"
base_url = "${model.url}/v1"
wire_api = "responses"
[mcp_servers.shop]
url = "${mcpUrl}"
`,
  );
  await model.bought(await run('codex', ['exec', '--skip-git-repo-check', task]));
});

test('opencode', { timeout }, async () => {
  const provider = {
    npm: '@ai-sdk/openai-compatible',
    name: 'standin',
    options: { baseURL: `${model.url}/v1`, apiKey: 'none' },
    models: { shopper: { name: 'shopper', tool_call: true } },
  };
  const config = {
    model: 'standin/shopper',
    provider: { standin: provider },
    mcp: { shop: { type: 'remote', url: String(mcpUrl), enabled: true } },
    autoupdate: false,
    share: 'disabled',
  };
  await mkdir(join(home, '.config/opencode'), { recursive: true });
  await writeFile(join(home, '.config/opencode/opencode.json'), JSON.stringify(config));
  await model.bought(await run('opencode', ['run', task]));
});
