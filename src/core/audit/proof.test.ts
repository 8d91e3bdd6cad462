import { describe, expect, it } from 'vitest';
import { leafText } from './leaf.js';
import { checkProof, checkProofText, type ProofChecks, type ProofVerdict } from './proof.js';
import { AuditedLog, testPayloadDigest } from './testing/audited-log.js';
import { newSigner, testSha256, verifyEd25519 } from './testing/primitives.js';

const CHECKS: ProofChecks = { hash: testSha256, verify: verifyEd25519 };
const log = new AuditedLog().fill(300);
const inclusion = log.inclusionProof(41, 300, true);
const consistency = log.consistencyProof(100, 300);

const codeOf = (verdict: ProofVerdict): string => (verdict.ok ? 'ok' : verdict.code);
const checkVerdict = (proof: unknown, checks: Partial<ProofChecks> = {}): string =>
  codeOf(checkProof(proof, { ...CHECKS, ...checks }));
const signedAgain = <Anchor extends typeof inclusion.checkpoint>(
  anchor: Anchor,
  position: number,
): Anchor => ({
  ...anchor,
  ...log.buildAnchor(position),
});

describe('an inclusion proof', () => {
  it('is accepted for every leaf, with its payload and without', () => {
    for (const size of [1, 2, 7, 255, 256, 257, 300]) {
      for (const index of new Set([0, size >> 1, size - 1])) {
        expect(checkVerdict(log.inclusionProof(index, size))).toBe('ok');
        expect(checkVerdict(log.inclusionProof(index, size, true))).toBe('ok');
      }
    }
  });

  it('is refused with a leaf of another position, project or tenant', () => {
    const event = log.events[41]!;
    const leafOf = (change: object) => leafText({ ...event, ...change }, testPayloadDigest(event.payload));
    expect(checkVerdict({ ...inclusion, index: 40 })).toBe('LEAF_MISMATCH');
    for (const change of [{ position: 41 }, { project_id: 'other' }, { tenant_id: 'other' }]) {
      expect(checkVerdict({ ...inclusion, leaf: leafOf(change) })).toBe('LEAF_MISMATCH');
    }
    for (const leaf of ['', '{', 'null', '[]', '7', `${inclusion.leaf.slice(0, -1)},"position":42}`]) {
      expect(checkVerdict({ ...inclusion, leaf })).toBe('LEAF_MISMATCH');
    }
    expect(checkVerdict({ ...inclusion, leaf: leafOf({ agent_id: 'beta' }) })).toBe('BAD_PATH');
  });

  it('is refused with another payload, path or size', () => {
    expect(checkVerdict({ ...inclusion, payload: `${inclusion.payload} ` })).toBe('PAYLOAD_MISMATCH');
    expect(checkVerdict({ ...inclusion, path: inclusion.path.toReversed() })).toBe('BAD_PATH');
    expect(checkVerdict({ ...inclusion, path: inclusion.path.slice(1) })).toBe('BAD_PATH');
    expect(checkVerdict({ ...inclusion, checkpoint: signedAgain(inclusion.checkpoint, 299) })).toBe(
      'BAD_PATH',
    );
  });
});

describe('a consistency proof', () => {
  it('is accepted from every size', () => {
    for (const from of [1, 2, 100, 255, 256, 257, 300])
      expect(checkVerdict(log.consistencyProof(from, 300))).toBe('ok');
  });

  it('is refused with another path or another tree', () => {
    expect(checkVerdict({ ...consistency, path: [] })).toBe('BAD_PATH');
    expect(checkVerdict({ ...consistency, from: log.buildAnchor(99) })).toBe('BAD_PATH');
    const other = new AuditedLog(log.project, log.signer);
    other.append('note', { text: 'rewritten' });
    expect(checkVerdict({ ...consistency, to: other.fill(300).buildAnchor() })).toBe('BAD_PATH');
  });

  it('is refused between two projects, and from a later checkpoint to an earlier one', () => {
    const other = new AuditedLog({ tenant_id: 'acme', project_id: 'other' }, log.signer).fill(300);
    const { from, to } = consistency;
    expect(checkVerdict({ ...consistency, to: other.buildAnchor() })).toBe('MALFORMED');
    expect(checkVerdict({ ...consistency, from: to, to: from })).toBe('MALFORMED');
    expect(checkVerdict({ ...consistency, from: { ...from, incarnation: 2 } })).toBe('MALFORMED');
  });
});

describe('a checkpoint in a proof', () => {
  it('must be signed by the key that it names', () => {
    const { checkpoint } = inclusion;
    const other = newSigner();
    const withCheckpoint = (change: object) =>
      checkVerdict({ ...inclusion, checkpoint: { ...checkpoint, ...change } });
    expect(withCheckpoint({ time: '2026-01-04T06:00:02.000Z' })).toBe('BAD_SIGNATURE');
    expect(withCheckpoint({ incarnation: 2 })).toBe('BAD_SIGNATURE');
    expect(withCheckpoint({ key_id: other.key_id })).toBe('KEY_ID_MISMATCH');
    expect(withCheckpoint({ key_id: other.key_id, public_key: other.public_key })).toBe('BAD_SIGNATURE');
    expect(checkVerdict({ ...consistency, to: { ...consistency.to, incarnation: 2 } })).toBe('BAD_SIGNATURE');
  });

  it('must be signed by a trusted key, given as an id or a whole public key', () => {
    const { key_id, public_key } = log.signer;
    const { key_id: otherId } = newSigner();
    expect(checkVerdict(inclusion, { trustedKeys: [otherId] })).toBe('UNTRUSTED_KEY');
    expect(checkVerdict(inclusion, { trustedKeys: [otherId, key_id] })).toBe('ok');
    expect(checkVerdict(consistency, { trustedKeys: [public_key] })).toBe('ok');
    expect(checkVerdict(consistency, { trustedKeys: [] })).toBe('UNTRUSTED_KEY');
  });
});

it('a proof is malformed with an extra or missing field, a value of the wrong type, or a lone surrogate', () => {
  for (const change of [
    { format: 'genesis-fleet inclusion proof 2' },
    { other: 1 },
    { index: -1 },
    { index: 41.5 },
    { index: '41' },
    { path: ['x'] },
    { path: Array(65).fill(inclusion.checkpoint.root) },
    { payload: '\ud800' },
    { leaf: '\udc00' },
    { checkpoint: { ...inclusion.checkpoint, other: 1 } },
  ]) {
    expect(checkVerdict({ ...inclusion, ...change })).toBe('MALFORMED');
  }
  for (const field of ['format', 'checkpoint', 'leaf', 'index', 'path']) {
    expect(checkVerdict({ ...inclusion, [field]: undefined })).toBe('MALFORMED');
  }
  for (const value of [null, [], 'proof', 7]) expect(checkVerdict(value)).toBe('MALFORMED');
});

it('a proof is malformed if it is not JSON or repeats a field', () => {
  const text = JSON.stringify(inclusion);
  expect(codeOf(checkProofText(text, CHECKS))).toBe('ok');
  expect(codeOf(checkProofText(`${text.slice(0, -1)},"index":41}`, CHECKS))).toBe('MALFORMED');
  expect(codeOf(checkProofText(text.slice(1), CHECKS))).toBe('MALFORMED');
});
