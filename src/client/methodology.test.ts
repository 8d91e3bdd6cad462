import { expect, test } from 'vitest';
import { expectNoProblem, openClientHarness, planTextOf } from './testing/client-harness.js';

const F = 'REQ-F-AUTH-001';
const files = {
  [`features/active/${F}.yml`]: `feature: ${F}\ntitle: Sign in\nprofile: standard\nstatus: pending\ntrajectory: {}\n`,
  '../specification/INTENT.md': '# Sign in\n\nPeople sign in with a key.\n',
};

test('every methodology call reaches its project and returns a typed value', async () => {
  const { genesis } = await openClientHarness(planTextOf({ A: 1 }));
  const { methodology } = genesis;
  expect(expectNoProblem(await methodology.init({ files })).feature_count).toBe(1);
  expect(expectNoProblem(await methodology.start()).feature).toBe(F);
  expect(expectNoProblem(await methodology.status()).project.active_features).toBe(1);
  expect(expectNoProblem(await methodology.feature(F)).current_edge).toBe('intent_requirements');
  expect(expectNoProblem(await methodology.health()).counts.features).toBe(1);
  expect(expectNoProblem(await methodology.gantt()).gantt).toContain(F);
  expect(expectNoProblem(await methodology.zoom({ edge: 'design→code' })).edge?.edge).toBe('design_code');
  expect(expectNoProblem(await methodology.trace({ req: F })).features).toHaveLength(1);
  const spawned = expectNoProblem(
    await methodology.spawn({ vector_type: 'spike', parent: F, reason: 'which one' }),
  );
  expect(spawned.feature_id).toBe('REQ-F-SPIKE-001');
  const answer = { fold_back_status: 'converged', summary: 'the first', recommendation: 'proceed' } as const;
  const child = { feature_id: 'REQ-F-SPIKE-001', ...answer };
  expect(expectNoProblem(await methodology.foldBack(child))).toMatchObject({
    success: false,
    reason: 'NOT_CONVERGED',
  });
  expect(expectNoProblem(await methodology.foldBack({ ...child, question_answered: true })).parent).toBe(F);
  expect(
    expectNoProblem(await methodology.checkpoint({ context_hash: 'sha256:0' })).snapshot?.tasks.total,
  ).toBe(1);
  expect(expectNoProblem(await methodology.gaps({ layers_run: [1], keys: [] })).result).toBe('COMPLETE');
  expect(expectNoProblem(await methodology.recordedGaps()).last?.total_req_keys).toBe(0);
  expect(expectNoProblem(await methodology.reviews()).reviews).toEqual([]);
  const unknownCandidate = {
    task_id: `${F}#design_code`,
    generation: 1,
    iteration: 1,
    candidate_sha256: 'a'.repeat(64),
  };
  expect(
    expectNoProblem(await methodology.review({ ...unknownCandidate, decision: 'approved' })).success,
  ).toBe(false);
  expect(expectNoProblem(await methodology.release({ version: '1.0.0', dry_run: true })).reason).toBe(
    'READY',
  );
  expect(await methodology.feature('REQ-F-NONE')).toMatchObject({ code: 'NOT_FOUND', status: 404 });
});
