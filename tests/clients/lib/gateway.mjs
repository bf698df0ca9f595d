// What every Node lane knows about the gateway under test.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify, stripVTControlCharacters } from 'node:util';

export const url = process.env.UCP_GATEWAY_URL;
export const mcpUrl = new URL('/mcp', url);
/** Where one release is spoken, whoever calls. */
export const leafUrl = (release) => `${url}/ucp/${release}`;
/** With whole schemas, so that SDKs check every answer. */
export const mcpUrlOf = (release) => new URL(`${leafUrl(release)}/mcp?schemas=full`);

/** Who the lanes say they are: UCP asks every caller for the address of its profile. */
export const meta = { 'ucp-agent': { profile: 'https://platform.example/profiles/lane.json' } };

/** How a desktop agent starts the gateway; a data directory has one writer, so each server gets its own. */
export function stdioServer(name) {
  const data = join(process.env.LANE_DIR, `stdio-${name}`);
  return { command: process.env.UCP_GATEWAY_BIN, args: ['mcp', '--stdio', '--query', 'schemas=full', '--data-dir', data], stderr: 'inherit' };
}

/** Runs a program of an npm package under the Node that runs this lane. */
export function run(script, args, { env = {}, timeout = 60_000 } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(process.env.CLIENTS_DIR, 'node_modules', script), ...args], {
      cwd: process.env.LANE_DIR,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data) => (stdout += data));
    child.stderr.on('data', (data) => (stderr += data));
    child.on('error', reject);
    // Colours are no characters of the XML report that a failed assertion ends in.
    child.on('close', (code) => resolve({ code, stdout: stripVTControlCharacters(stdout), stderr: stripVTControlCharacters(stderr) }));
  });
}

/** A port of this machine that nothing listens on. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts one more gateway, with a key, configured by `toml` and `more` arguments, and gives its address and a function that stops it. It is there once `ready` answers. */
export async function startGateway(name, toml, more = [], ready = '/.well-known/ucp') {
  const file = (suffix) => join(process.env.LANE_DIR, `gateway-${name}.${suffix}`);
  await writeFile(file('toml'), toml);
  await promisify(execFile)(process.env.UCP_GATEWAY_BIN, ['keys', 'generate', '--data-dir', file('data')]);
  const log = await open(file('log'), 'w');
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const args = ['serve', '--config', file('toml'), '--listen', address, '--public-url', url, '--data-dir', file('data'), ...more];
  const child = spawn(process.env.UCP_GATEWAY_BIN, args, { stdio: ['ignore', log.fd, log.fd] });
  const ended = once(child, 'exit');
  await log.close();
  for (let attempt = 0; attempt < 600; attempt += 1) {
    assert.equal(child.exitCode, null, `the gateway ${name} runs; see ${file('log')}`);
    const answer = await fetch(`${url}${ready}`).catch(() => undefined);
    if (answer?.ok) {
      return {
        url,
        async stop() {
          assert.equal(child.exitCode, null, `the gateway ${name} still runs; see ${file('log')}`);
          child.kill();
          await ended;
        },
      };
    }
    await sleep(100);
  }
  child.kill('SIGKILL');
  throw new Error(`the gateway ${name} did not answer within a minute; see ${file('log')}`);
}
