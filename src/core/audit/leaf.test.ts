import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type LeafEnvelope, leafText } from './leaf.js';

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('', '"', '\\', '\n', '\u2028', '\ud800', 'é'),
);
const count = fc.nat();
const fields = {
  event_id: text,
  event_type: text,
  timestamp: text,
  tenant_id: text,
  project_id: text,
  position: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  subject: text,
  seq: count,
  task_id: text,
  feature_id: text,
  edge: text,
  agent_id: text,
  agent_role: text,
  session_id: text,
  generation: count,
  request_id: text,
};
const requiredKeys = [
  'event_id',
  'event_type',
  'timestamp',
  'tenant_id',
  'project_id',
  'position',
  'agent_id',
] as const;
const envelope = fc.record(fields, { requiredKeys: [...requiredKeys] }) as fc.Arbitrary<LeafEnvelope>;

it('a leaf is the JSON of the envelope in the order that docs/decisions/0017 fixes, with the digest of the payload last', () => {
  fc.assert(
    fc.property(envelope, text, (event, payload_sha256) => {
      const ordered = Object.keys(fields).map((key) => [key, event[key as keyof LeafEnvelope]]);
      expect(leafText(event, payload_sha256)).toBe(
        JSON.stringify({ ...Object.fromEntries(ordered), payload_sha256 }),
      );
    }),
    { numRuns: 2000 },
  );
});
