// The official MCP conformance suite, the scenarios that apply to a server that has tools and nothing else. The others
// call tools, prompts or resources that a test server must bring.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { mcpUrl, mcpUrlOf, run } from '../lib/gateway.mjs';
import { releases } from '../lib/shop.mjs';

const revisions = [
  {
    version: '2025-11-25',
    program: '@modelcontextprotocol/conformance/dist/index.js',
    scenarios: ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
  },
  {
    version: '2026-07-28',
    // Only the alpha of the next release knows this revision.
    program: '@modelcontextprotocol/conformance-next/dist/index.js',
    scenarios: ['server-stateless', 'tools-list', 'http-header-validation', 'dns-rebinding-protection', 'caching'],
    // Each with its reason. The suite fails when one of them starts to pass.
    expected: new URL('conformance.expected.yml', import.meta.url).pathname,
  },
];

for (const { version, program, scenarios, expected } of revisions) {
  suite(version, () => {
    // The endpoints of single releases differ from the root in what they list.
    const leaves = releases.map((release) => ['tools-list', mcpUrlOf(release), ` at the endpoint of ${release}`]);
    for (const [scenario, { href }, where] of [...scenarios.map((scenario) => [scenario, mcpUrl, '']), ...leaves]) {
      test(scenario + where, async () => {
        const args = ['server', '--url', href, '--scenario', scenario, '--spec-version', version];
        const results = join(process.env.LANE_DIR, `conformance-${version}`);
        args.push('--output-dir', results);
        if (expected) args.push('--expected-failures', expected);
        const { code, stdout, stderr } = await run(program, args);
        // It repeats the whole requirement at every check: what failed, and why, is enough.
        assert.equal(code, 0, (stdout + stderr).split('\n').filter((line) => /FAILURE|WARNING|Error:|✗/.test(line)).join('\n'));
      });
    }
  });
}
