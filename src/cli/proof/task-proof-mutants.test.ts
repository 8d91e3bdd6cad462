import { expect, it } from 'vitest';
import type { TaskProof } from '../../core/audit/task-proof/task-proof.js';
import { seededRandom } from '../../core/audit/testing/primitives.js';
import { collectTaskProof } from './collect-task-proof.js';
import { mutatedTaskProof } from './testing/mutated-task-proof.js';
import { A, B, C, TaskProofHarness, verdictOf } from './testing/proof-harness.js';

const MUTANT_COUNT = 240;

it('refuses a proof that was changed in any way, also with parts of another proof', async () => {
  const fleet = await TaskProofHarness.open();
  await fleet.takeOver(A);
  await fleet.adoptParked(C);
  const sent = await fleet.completeSigned(B);
  // One checkpoint for all, so that an event of one proof is valid in the others.
  await fleet.coordinator.audit.checkpoint();
  const proofs: TaskProof[] = [];
  for (const task of [A, B, C]) proofs.push(await collectTaskProof(fleet.client, task, sent));
  expect(proofs.map((proof) => verdictOf(proof))).toEqual(['ok', 'ok', 'ok']);

  const random = seededRandom(23);
  const mutants = Array.from({ length: MUTANT_COUNT }, (_, index) =>
    mutatedTaskProof(
      proofs[index % 3]!,
      proofs[(index + 1 + (index % 2)) % 3]!,
      Math.floor(index / 3),
      random,
    ),
  );
  const verdicts = mutants.map((mutant) => verdictOf(mutant));
  expect(mutants.filter((_, index) => verdicts[index] === 'ok')).toEqual([]);
  // Each check refuses some mutant: otherwise the mutants would not show that the check is needed.
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
