import { expect, test } from 'vitest';
import { DATABASE_NAMES, onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import { unwrap } from '../support/coordinator-harness.js';
import { reportedOutcome, SigningRunner, uploadCandidate } from '../support/signing-runner.js';
import { evaluatorReport, FILES } from '../support/workspace-files.js';
import { DatabaseFleet } from './fleet.js';

const EDGES = ['REQ-F-A#design_code', 'REQ-F-B#design_code'] as const;
const ROLES = 'roles:\n  architect: { converge_edges: [design_code] }\n';

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, ({ url }) => {
    /** Two claimed edges whose candidates have evidence. Both coordinators have read the evidence. */
    async function openVerified() {
      const fleet = await DatabaseFleet.open(url, 2);
      const { projectKey } = fleet;
      const [first, second] = [fleet.coordinatorAt(0), fleet.coordinatorAt(1)];
      unwrap(await first.settings.configure(projectKey, { files: { ...FILES, 'agent_roles.yml': ROLES } }));
      unwrap(await first.settings.putPolicy(projectKey, { evidence: 'verified' }));
      const runner = new SigningRunner();
      unwrap(await first.evidence.enrolRunner(projectKey, { public_key: runner.public_key }));
      const submits: ((coordinator: typeof first) => ReturnType<typeof first.holder.submitResult>)[] = [];
      const evidence: ReturnType<SigningRunner['signed']>[] = [];
      const target = {
        putBlob: async (sha256: string, bytes: Uint8Array) =>
          unwrap(await first.blobs.putBlob(projectKey.tenant_id, sha256, bytes)),
      };
      for (const [at, task_id] of EDGES.entries()) {
        const agent = { agent_id: `agent-${at}`, session_id: `s-${at}`, agent_role: 'architect' };
        const { claim } = unwrap(await first.claims.claimTask(projectKey, { task_id, ...agent }));
        const handle = { task_id, session_id: agent.session_id, claim_id: claim?.id };
        const { manifest, sha256 } = await uploadCandidate(target, { [`src/${at}.ts`]: 'x' });
        const proposal = { ...handle, expected_generation: 1, candidate_sha256: sha256 };
        const proposed = unwrap(await first.evidence.propose(projectKey, proposal));
        const base_version = proposed.success ? proposed.base_version : -1;
        const checks = [reportedOutcome('compiles', 'make')];
        const statementFields = { ...projectKey, task_id, candidate_sha256: sha256, base_version, checks };
        const signed = runner.signed(runner.statement(statementFields));
        expect(await first.evidence.record(projectKey, { evidence: signed })).toMatchObject({
          success: true,
        });
        evidence.push(signed);
        const result = {
          ...handle,
          generation: 1,
          result_data: manifest,
          iteration: 1,
          ...evaluatorReport(),
        };
        submits.push((coordinator) => coordinator.holder.submitResult(projectKey, result));
      }
      for (const coordinator of [first, second])
        expect(unwrap(await coordinator.evidence.listCandidates(projectKey)).candidates).toHaveLength(2);
      return { project: projectKey, first, second, runner, evidence, submits };
    }

    test(`on ${name}, the evidence of a runner that another coordinator has revoked does not count`, async () => {
      const { project: projectKey, first, second, runner, evidence, submits } = await openVerified();
      unwrap(await first.evidence.revokeRunner(projectKey, runner.runner_id));
      expect(await submits[0]?.(second)).toMatchObject({ accepted: false, reason: 'NOT_CONVERGED' });
      expect(await second.evidence.record(projectKey, { evidence: evidence[0] })).toMatchObject({
        reason: 'RUNNER_REVOKED',
      });
      const again = await second.evidence.enrolRunner(projectKey, { public_key: runner.public_key });
      expect(again).toMatchObject({ problem: expect.any(String) });
    });

    test(`on ${name}, evidence is void once another coordinator has accepted a result`, async () => {
      const { project: projectKey, first, second, evidence, submits } = await openVerified();
      expect(await submits[0]?.(first)).toMatchObject({ accepted: true });
      expect(await submits[1]?.(second)).toMatchObject({ accepted: false, reason: 'NOT_CONVERGED' });
      expect(await second.evidence.record(projectKey, { evidence: evidence[1] })).toMatchObject({
        reason: 'BASE_MOVED',
      });
    });

    test(`on ${name}, only one of two results is accepted if their evidence has the same base`, async () => {
      const { first, second, submits } = await openVerified();
      const replies = await Promise.all([submits[0]?.(first), submits[1]?.(second)]);
      expect(
        replies.filter((reply) => reply !== undefined && 'accepted' in reply && reply.accepted),
      ).toHaveLength(1);
    });
  });
}
