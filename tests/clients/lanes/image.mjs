// The container files, as far as they can be judged without an engine: the Dockerfile is well formed, and the compose file
// is YAML that names only what it defines.
import { validate } from 'dockerfile-utils';
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { parseDocument } from 'yaml';

const file = (name) => readFile(`${process.env.REPOSITORY}/${name}`, 'utf8');

suite('the container files', () => {
  test('the Dockerfile has no fault', async () => {
    const faults = validate(await file('Dockerfile'));
    assert.deepEqual(faults.map(({ range, message }) => `line ${range.start.line + 1}: ${message}`), []);
  });

  test('the compose file defines one service and the volume it uses', async () => {
    const document = parseDocument(await file('docker-compose.yml'), { strict: true });
    assert.deepEqual([...document.errors, ...document.warnings], []);
    const { services, volumes } = document.toJS();
    assert.deepEqual(Object.keys(services), ['gateway']);
    const used = services.gateway.volumes.map((mount) => mount.split(':')[0]);
    assert.deepEqual(used, Object.keys(volumes));
    assert.equal(services.gateway.read_only, true);
  });
});
