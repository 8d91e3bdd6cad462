import { expect, it } from 'vitest';
import { anchorSchema, anchorText, checkpointPayload, checkpointText } from './checkpoint.js';
import { AuditedLog } from './testing/audited-log.js';
import { verifyEd25519 } from './testing/primitives.js';

const log = new AuditedLog().fill(300);

it('signs the text that docs/decisions/0017 fixes', () => {
  const { project_id, tenant_id } = log.project;
  const checkpoint = log.buildCheckpoint(300);
  const { root, time, key_id } = checkpoint;
  const text = checkpointText(log.project, checkpoint);
  expect(text.split('\n')).toEqual([
    'genesis-fleet checkpoint 1',
    tenant_id,
    project_id,
    '1',
    '300',
    root,
    time,
    key_id,
  ]);
  expect(verifyEd25519(log.signer.public_key, text, checkpoint.signature)).toBe(true);
});

it('the schema accepts a checkpoint and refuses unknown fields', () => {
  const checkpoint = log.buildCheckpoint(300);
  expect(checkpointPayload.parse(checkpoint)).toEqual(checkpoint);
  for (const change of [
    { position: 0 },
    { root: `${checkpoint.root.slice(0, -1)}B` },
    { signature: checkpoint.root },
    { key_id: checkpoint.key_id.toUpperCase().replace(/^./, 'A') },
    { time: '2026-02-30T00:00:00.000Z' },
    { subtrees: [...checkpoint.subtrees, 'x'] },
    { subtrees: Array(54).fill(checkpoint.root) },
    { tiles: { first: 0, roots: Array(4097).fill(checkpoint.root) } },
    { other: 1 },
  ]) {
    expect(
      checkpointPayload.safeParse({ ...checkpoint, ...change }).success,
      JSON.stringify(change).slice(0, 80),
    ).toBe(false);
  }
});

it('an anchor is written as the same single line, whatever the order of its fields', () => {
  const anchor = log.buildAnchor(7);
  const text = anchorText(anchor);
  expect(text).not.toContain('\n');
  expect(anchorSchema.parse(JSON.parse(text))).toEqual(anchor);
  const reversed = Object.fromEntries(Object.entries(anchor).reverse());
  expect(anchorText(reversed as typeof anchor)).toBe(text);
});
