// The shopper of lib/shopper.py, as a process of its own: the same for every language.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** What the shopper is told to do; it does the same whatever it is told. */
export const task = 'Buy a sunrise filter.';

const script = join(dirname(fileURLToPath(import.meta.url)), 'shopper.py');

/** Starts the stand-in model. Its `url` is the root of the API of OpenAI, Anthropic and Google alike. */
export async function startModel(name) {
  const log = join(process.env.LANE_DIR, `model-${name}.jsonl`);
  await writeFile(log, '');
  const child = spawn('python3', [script, log], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const [url] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(20_000) });
  return {
    url,
    /** That the agent's last words are those of a buyer who has read the whole refusal. */
    async bought(said) {
      const turns = (await readFile(log, 'utf8')).split('\n').filter(Boolean).map((line) => JSON.parse(line));
      assert.match(String(said), /Bought \S/, JSON.stringify(turns.at(-1)));
      const read = turns.flatMap(({ results }) => results);
      assert.ok(read.some((text) => text.includes('$.pagination.limit') && text.includes('at least 1')), 'the model read the refusal');
    },
    /** Lets a client without a model shop: `call` calls a tool and gives its text. */
    async shop(call) {
      const results = [];
      while (results.length < 6) {
        const asked = await fetch(`${url}/decide`, { method: 'POST', body: JSON.stringify({ results }) });
        const { tool, arguments: args, text } = await asked.json();
        if (!tool) return text;
        results.push(await call(tool, args));
      }
      throw new Error('the shopper came to no end');
    },
    async stop() {
      child.stdin.end();
      child.kill();
      await ended;
    },
  };
}

/** Whether a result is the refusal of the shopper's mistake, as text and as `isError`. */
export function readRefusal(result) {
  const [{ text }] = result.content;
  assert.equal(Boolean(result.isError), text.includes('$.pagination.limit') && text.includes('at least 1'), text);
  return text;
}
