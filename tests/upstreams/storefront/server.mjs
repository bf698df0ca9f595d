#!/usr/bin/env node
// Starts the upstream. README.md says what it is.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { schemaPath, schemaVersion, sdl } from './src/schema.mjs';
import { startUpstream, tokens } from './src/upstream.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    'print-schema': { type: 'string' },
    'cost-limit': { type: 'string' },
    'require-buyer-ip': { type: 'boolean' },
    stay: { type: 'boolean' },
  },
});

if (values['print-schema']) writeFileSync(values['print-schema'], sdl());
const settings = {};
if (values['cost-limit']) settings.costLimit = Number(values['cost-limit']);
if (values['require-buyer-ip']) settings.requireBuyerIp = true;

const upstream = await startUpstream({ port: Number(values.port), host: values.host, settings });
console.log(JSON.stringify({ url: upstream.url, schema: schemaPath, schemaVersion, tokens }));

const leave = async () => {
  await upstream.stop();
  process.exit(0);
};
process.once('SIGTERM', leave);
process.once('SIGINT', leave);
// Whoever holds the other end owns this process: it does not outlive a test that is killed.
if (!values.stay) process.stdin.resume().once('end', leave).once('error', leave);
