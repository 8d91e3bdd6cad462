import { describe, expect, test } from 'vitest';
import { PolicyAwareLogChecker } from '../../src/core/claims/policy-aware-log-checker.js';
import type { AnyHead } from '../../src/core/fold.js';
import { DATABASE_NAMES, onSharedDatabase } from '../../src/stores/testing/shared-database.js';
import { candidateDigest } from '../support/candidate-digest.js';
import { unwrap } from '../support/coordinator-harness.js';
import { coordinationConfig, evaluatorReport, FILES } from '../support/workspace-files.js';
import { DatabaseFleet } from './fleet.js';

const CODE = 'REQ-F-A#design_code';
const SPEC = 'REQ-F-A#intent_requirements';
const by = (index: number) => ({
  agent_id: `agent-${index}`,
  session_id: `s-${index}`,
  agent_role: 'architect',
});

for (const name of DATABASE_NAMES) {
  await onSharedDatabase(name, ({ url }) => {
    describe(`edges of features on ${name} with three coordinators`, () => {
      async function openFleet(isEnforced = false) {
        const fleet = await DatabaseFleet.open(url, 3);
        const { projectKey } = fleet;
        const intent = { '../specification/INTENT.md': '# Sign in\n\nPeople sign in.\n' };
        const files = {
          ...FILES,
          ...intent,
          'coordination.yml': coordinationConfig({ enforce: isEnforced }),
        };
        unwrap(await fleet.coordinatorAt(0).settings.configure(projectKey, { files }));
        return { fleet, project: projectKey };
      }

      async function findFaults(fleet: DatabaseFleet): Promise<unknown[]> {
        const checker = new PolicyAwareLogChecker();
        const eventFaults = (await fleet.events()).flatMap((event) => checker.checkEvent(event));
        const heads = await fleet.store.scanHeads(fleet.projectKey, { after: null, limit: 1000 });
        return [...eventFaults, ...checker.checkHeads(heads as AnyHead[])];
      }

      test('are granted to one of many agents, and each rejection names the holder', async () => {
        const { fleet, project: projectKey } = await openFleet();
        const replies = (
          await Promise.all(
            Array.from({ length: 12 }, (_, n) =>
              fleet.coordinatorAt(n).claims.claimTask(projectKey, { task_id: CODE, ...by(n) }),
            ),
          )
        ).map(unwrap);
        const winner = replies.find(({ success }) => success)?.claim?.agent_id;
        const events = await fleet.events();
        expect(events.filter(({ event_type }) => event_type === 'edge_started')).toHaveLength(1);
        const rejected = events.filter(({ event_type }) => event_type === 'claim_rejected');
        expect(rejected).toHaveLength(11);
        expect(new Set(rejected.map(({ payload }) => payload.holding_agent))).toEqual(new Set([winner]));
        expect(await findFaults(fleet)).toEqual([]);
      });

      test('are granted by next, and a session that forgot them can resume them at any coordinator', async () => {
        const { fleet, project: projectKey } = await openFleet();
        const requestNext = (at: number, agent: number, more: object = {}) =>
          fleet
            .coordinatorAt(at)
            .claims.next(projectKey, { ...by(agent), kinds: ['edge'], wait_seconds: 0, ...more })
            .then(unwrap);
        const replies = await Promise.all([0, 1, 2].map((agent) => requestNext(agent, agent)));
        const winner = replies.findIndex(({ success }) => success);
        const granted = replies.flatMap(({ claim }) => claim?.task_id ?? []);
        expect(granted.length).toBeGreaterThan(0);
        expect(new Set(granted).size).toBe(granted.length);
        const before = (await fleet.events()).length;
        const { id, generation, task_id } = replies[winner]?.claim ?? {};
        for (const at of [winner + 1, winner + 2]) {
          expect(await requestNext(at, winner, { resume: true })).toMatchObject({
            reason: 'GRANTED',
            resumed: true,
            claim: { id, generation, task_id },
          });
        }
        expect(await fleet.events()).toHaveLength(before);
        expect(await findFaults(fleet)).toEqual([]);
      });

      test('converge by their checklist, and by the review of a person if the checklist requires it', async () => {
        const { fleet, project: projectKey } = await openFleet();
        const submit = (task_id: string, more: object) =>
          fleet.coordinatorAt(1).holder.submitResult(projectKey, {
            task_id,
            session_id: 's-0',
            generation: 1,
            result_data: { made: 'it' },
            ...more,
          });
        for (const task_id of [CODE, SPEC]) {
          unwrap(await fleet.coordinatorAt(0).claims.claimTask(projectKey, { task_id, ...by(0) }));
        }
        expect(await submit(CODE, {})).toMatchObject({ reason: 'NOT_CONVERGED' });
        expect(await submit(CODE, evaluatorReport())).toMatchObject({ reason: 'ACCEPTED' });
        expect(await submit(SPEC, evaluatorReport({ complete: 'pass' }))).toMatchObject({
          reason: 'ESCALATED',
        });
        const candidate_sha256 = candidateDigest({ made: 'it' });
        const gate = { generation: 1, iteration: 1, candidate_sha256, decision: 'APPROVED' };
        expect(
          await fleet.coordinatorAt(2).decisions.recordReview(projectKey, { task_id: SPEC, ...gate }),
        ).toMatchObject({
          success: true,
        });
        const status = unwrap(await fleet.coordinatorAt(0).methodology.status(projectKey));
        expect(status).toMatchObject({ project: { edges_completed: 2 } });
        expect(await findFaults(fleet)).toEqual([]);
      });

      test('are granted one at a time across features that share modules, if that is enforced', async () => {
        const { fleet, project: projectKey } = await openFleet(true);
        const claims = ['REQ-F-A#design_code', 'REQ-F-B#design_code'].map((task_id, n) =>
          fleet.coordinatorAt(n).claims.claimTask(projectKey, { task_id, ...by(n) }),
        );
        const reasons = (await Promise.all(claims)).map((reply) => unwrap(reply).reason);
        expect(reasons.sort()).toEqual(['DENIED_PARALLEL', 'GRANTED']);
        expect(await findFaults(fleet)).toEqual([]);
      });
    });
  });
}
