import { expect, it } from 'vitest';
import type { TaskProof } from '../../core/audit/task-proof/task-proof.js';
import { seededRandom } from '../../core/audit/testing/primitives.js';
import { collectTaskProof } from './collect-task-proof.js';
import { mutatedTaskProof } from './testing/mutated-task-proof.js';
import { A, B, C, EvidenceHarness, verdictOf } from './testing/proof-harness.js';

const MUTANTS = 240;

it('refuses a proof that was changed in any way, also with parts of another one', async () => {
  const fleet = await EvidenceHarness.open();
  await fleet.takeOver(A);
  await fleet.adoptParked(C);
  const sent = await fleet.completeSigned(B);
  // One checkpoint for all, so that an event of one proof is valid in the others.
  await fleet.coordinator.audit.checkpoint();
  const proofs: TaskProof[] = [];
  for (const task of [A, B, C]) proofs.push(await collectTaskProof(fleet.client, task, sent));
  expect(proofs.map((proof) => verdictOf(proof))).toEqual(['ok', 'ok', 'ok']);

  const random = seededRandom(23);
  const mutants = Array.from({ length: MUTANTS }, (_, at) =>
    mutatedTaskProof(proofs[at % 3]!, proofs[(at + 1 + (at % 2)) % 3]!, Math.floor(at / 3), random),
  );
  const verdicts = mutants.map((mutant) => verdictOf(mutant));
  expect(mutants.filter((_, at) => verdicts[at] === 'ok')).toEqual([]);
  // Otherwise the mutants would not show that each check is needed.
  expect([...new Set(verdicts)].sort()).toEqual(
    expect.arrayContaining([
      'BAD_PATH',
      'BAD_SESSION_SIGNATURE',
      'LEAF_MISMATCH',
      'MALFORMED',
      'PAYLOAD_MISMATCH',
      'ROLE_MISMATCH',
      'SUMMARY_MISMATCH',
    ]),
  );
});
