import { expect, test } from 'vitest';
import { claimBody, submitBody } from './claim-bodies.js';
import { appendBody } from './events.js';
import { noteBody } from './tasks.js';

const TWO_BYTES = 'é';
const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
/**
 * A value with this size as JSON. `wrap` builds the value around two-byte characters, plus a one-byte character if the size
 * is odd.
 */
function valueOfBytes(bytes: number, wrap: (filler: string) => unknown): unknown {
  const fillerBytes = bytes - jsonBytes(wrap(''));
  const value = wrap(TWO_BYTES.repeat(fillerBytes >> 1) + 'x'.repeat(fillerBytes & 1));
  expect(jsonBytes(value)).toBe(bytes);
  return value;
}

const CLAIM = { task_id: 'A-001-x', agent_id: 'a', session_id: 's' };
const RESULT = { task_id: 'A-001-x', session_id: 's', generation: 1, result_data: 1 };
const COUNTS = { passed: 0, failed: 0, skipped: 0 };
const checksWithSays = (filler: string) => {
  const details = Array.from({ length: 33 }, (_, index) => ({
    name: `check ${index}`,
    result: 'skip',
    says: filler.slice(index * 1000, (index + 1) * 1000),
  }));
  return { ...COUNTS, total: details.length, details };
};

const SIZE_LIMITS: readonly [
  field: string,
  bytesMax: number,
  parse: (bytes: number) => { success: boolean },
][] = [
  [
    'the metadata of a claim',
    4096,
    (bytes) => claimBody.safeParse({ ...CLAIM, metadata: valueOfBytes(bytes, (text) => ({ text })) }),
  ],
  [
    'the payload of an event',
    64 * 1024,
    (bytes) =>
      appendBody.safeParse({
        event_type: 'x',
        agent_id: 'a',
        payload: valueOfBytes(bytes, (text) => ({ text })),
      }),
  ],
  [
    'the checks of a result',
    64 * 1024,
    (bytes) => submitBody.safeParse({ ...RESULT, evaluators: valueOfBytes(bytes, checksWithSays) }),
  ],
  [
    'the text of a note',
    4096,
    (bytes) => {
      // The quotes take two bytes, which count only in the JSON text.
      const text = valueOfBytes(bytes + 2, (filler) => filler);
      return noteBody.safeParse({ task_id: 'A-001-x', session_id: 's', generation: 1, text });
    },
  ],
];

test.each(SIZE_LIMITS)(
  '%s may have %i bytes, counted as bytes and not as characters',
  (_, bytesMax, parse) => {
    expect(parse(bytesMax).success).toBe(true);
    expect(parse(bytesMax + 1).success).toBe(false);
  },
);
