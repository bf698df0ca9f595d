// The encoder of variants against the decoder that Hydrogen ships.
import { decodeEncodedVariant } from '@shopify/hydrogen-react/optionValueDecoder';
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { products, random } from '../src/catalog.mjs';
import { encode } from '../src/encoding.mjs';

const sorted = (tuples) => tuples.map((tuple) => tuple.join()).sort();

suite('what exists, encoded', () => {
  test('is what the schema gives as examples', () => {
    assert.equal(encode([]), 'v1_');
    assert.equal(encode([[0], [1], [2], [4], [5], [6]]), 'v1_0-2 4-6');
    assert.equal(
      encode([
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 2],
        [2, 1],
        [2, 2],
      ]),
      'v1_0:0-1,1:0 2,2:1-2,',
    );
    const three = [
      [0, 0, 0],
      [0, 1, 0],
      [0, 1, 1],
      [1, 0, 0],
      [1, 0, 1],
      [1, 1, 1],
      [2, 0, 1],
      [2, 1, 0],
    ];
    assert.equal(encode(three), 'v1_0:0:0,1:0-1,,1:0:0-1,1:1,,2:0:1,1:0,,');
  });

  test('is decoded by Hydrogen to what it was, for random matrices', () => {
    const next = random(1);
    const seen = { tuples: 0, empty: 0, full: 0, ranges: 0, gaps: 0, depths: new Set() };
    for (let round = 0; round < 3_000; round += 1) {
      const sizes = Array.from({ length: 1 + next(4) }, () => 1 + next(7));
      // From nearly nothing to everything, and in any order.
      const density = next(11);
      let tuples = sizes.reduce(
        (all, size) => all.flatMap((tuple) => Array.from({ length: size }, (_, value) => [...tuple, value])),
        [[]],
      );
      const whole = tuples.length;
      tuples = tuples.filter(() => next(10) < density);
      const encoded = encode([...tuples].sort(() => next(3) - 1));
      assert.deepEqual(sorted(decodeEncodedVariant(encoded)), sorted(tuples), `${JSON.stringify(sizes)} ${encoded}`);
      seen.tuples += tuples.length;
      seen.empty += tuples.length === 0 ? 1 : 0;
      seen.full += tuples.length === whole ? 1 : 0;
      seen.ranges += encoded.includes('-') ? 1 : 0;
      seen.gaps += encoded.includes(' ') ? 1 : 0;
      seen.depths.add(sizes.length);
    }
    // A generator that makes little of everything would prove little.
    assert.ok(
      seen.tuples > 100_000 && seen.empty > 100 && seen.full > 100 && seen.ranges > 1_000 && seen.gaps > 1_000,
      JSON.stringify(seen),
    );
    assert.deepEqual([...seen.depths].sort(), [1, 2, 3, 4]);
  });

  test('is decoded to the variants of every product of the catalogue', () => {
    for (const { title, variants } of products) {
      const tuples = variants.map(({ position }) => position);
      assert.deepEqual(sorted(decodeEncodedVariant(encode(tuples))), sorted(tuples), title);
    }
  });
});
