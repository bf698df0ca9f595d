// The container files, as far as they can be judged without an engine: the Dockerfile is well formed, and the compose file
// is YAML that names only what it defines.
import { validate } from 'dockerfile-utils';
import assert from 'node:assert/strict';
import { access, readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { parseDocument } from 'yaml';

const file = (name) => readFile(`${process.env.REPOSITORY}/${name}`, 'utf8');

suite('the container files', () => {
  test('the Dockerfile has no fault', async () => {
    const faults = validate(await file('Dockerfile'));
    assert.deepEqual(faults.map(({ range, message }) => `line ${range.start.line + 1}: ${message}`), []);
  });

  test('the compose file uses what it defines and what is there', async () => {
    const document = parseDocument(await file('docker-compose.yml'), { strict: true });
    assert.deepEqual([...document.errors, ...document.warnings], []);
    const { services, volumes, configs } = document.toJS();
    assert.deepEqual(Object.keys(services), ['gateway', 'postgres', 'shared-1', 'shared-2', 'prometheus', 'grafana']);
    const all = Object.values(services);
    const mounted = all.flatMap((service) => service.volumes ?? []).map((mount) => mount.split(':')[0]);
    const files = mounted.filter((source) => source.startsWith('./'));
    assert.ok(files.length > 0);
    for (const source of files) await access(`${process.env.REPOSITORY}/${source}`);
    assert.deepEqual(mounted.filter((source) => !source.startsWith('./')), Object.keys(volumes));
    const used = all.flatMap((service) => service.configs ?? []).map(({ source }) => source);
    assert.deepEqual([...new Set(used)], Object.keys(configs));
    assert.equal(services.gateway.read_only, true);
  });
});
