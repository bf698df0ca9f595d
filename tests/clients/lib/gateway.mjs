// What every Node lane knows about the gateway under test.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

export const url = process.env.UCP_GATEWAY_URL;
export const mcpUrl = new URL('/mcp', url);

/** Who the lanes say they are: UCP asks every caller for the address of its profile. */
export const meta = { 'ucp-agent': { profile: 'https://platform.example/profiles/lane.json' } };

/** How a desktop agent starts the gateway; a data directory has one writer, so each server gets its own. */
export function stdioServer(name) {
  const data = join(process.env.LANE_DIR, `stdio-${name}`);
  return { command: process.env.UCP_GATEWAY_BIN, args: ['mcp', '--stdio', '--data-dir', data], stderr: 'inherit' };
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
