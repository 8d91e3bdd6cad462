import { expect, test } from 'vitest';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { cursorAt } from '../queries/cursor.js';

const TYPO = { ...PROJECT_KEY, project_id: 'shpo' };
const WHO = { agent_id: 'alpha', session_id: 's1' };
const HANDLE = { task_id: 'A-001-x', session_id: 's1' };

forEachStore('a command in a project that does not exist', (open) => {
  async function openWithShop() {
    const harness = await open();
    await harness.plan(planOf('A-001-x'));
    return harness;
  }

  test('is refused with similar names of its tenant, and creates nothing', async () => {
    const { coordinator } = await openWithShop();
    const { plans, settings, sessions, queries, feed, methodology, audit } = coordinator;
    const refusals = await Promise.all([
      coordinator.holder.renewLease(TYPO, { ...HANDLE, expected_generation: 1 }),
      coordinator.holder.releaseClaim(TYPO, { ...HANDLE, expected_generation: 1 }),
      coordinator.holder.submitResult(TYPO, { ...HANDLE, generation: 1, result_data: 1 }),
      coordinator.holder.note(TYPO, { ...HANDLE, generation: 1, text: 'x' }),
      coordinator.decisions.operate(TYPO, 'A-001-x', 'hold', { expected_generation: 0, reason: 'x' }),
      plans.get(TYPO),
      plans.add(TYPO, [{ id: 'A-001-x', description: 'd' }]),
      settings.getPolicy(TYPO),
      settings.putPolicy(TYPO, { max_attempts: 2 }),
      sessions.open(PROJECT_KEY.tenant_id, { session_id: 's1', user_id: 'u', project_id: 'shpo' }),
      queries.status(TYPO),
      queries.agents(TYPO),
      queries.listTasks(TYPO),
      queries.getTaskState(TYPO, 'A-001-x'),
      feed.page(TYPO),
      feed.page(TYPO, { after: cursorAt(9) }),
      methodology.start(TYPO, {}),
      methodology.reviews(TYPO),
      audit.keys(TYPO),
    ]);
    for (const refused of refusals) {
      expect(refused).toEqual({
        problem: 'UNKNOWN_PROJECT',
        detail: expect.stringMatching(/no project shpo\. Did you mean shop\?.*gen plan import/),
      });
    }
    expect(await queries.projectsOf(PROJECT_KEY.tenant_id)).toEqual(['shop']);
  });

  test('is refused with the reply of a claim by claimTask, by next and for each claim of a batch', async () => {
    const { coordinator } = await openWithShop();
    const claim = { task_id: 'A-001-x', ...WHO };
    const refused = {
      success: false,
      reason: 'UNKNOWN_PROJECT',
      claim: null,
      current_holder: null,
      next: expect.stringContaining('Did you mean shop?'),
    };
    expect(await coordinator.claims.claimTask(TYPO, claim)).toEqual(refused);
    expect(await coordinator.claims.next(TYPO, { ...WHO, wait_seconds: 0 })).toEqual(refused);
    for (const mode of ['partial', 'all_or_nothing'])
      expect(
        await coordinator.claims.batchClaim(TYPO, {
          mode,
          claims: [claim, { ...claim, task_id: 'A-002-x' }],
        }),
      ).toEqual({
        results: [refused, refused],
      });
  });

  test('does not show the names of another tenant', async () => {
    const { coordinator } = await openWithShop();
    const theirs = { tenant_id: 'other', project_id: 'shop' };
    expect(await coordinator.queries.status(theirs)).toMatchObject({
      problem: 'UNKNOWN_PROJECT',
      detail: expect.not.stringContaining('Did you mean'),
    });
  });

  test('is accepted once a plan, a configuration or an import has created the project', async () => {
    const { coordinator } = await open();
    const projectNamed = (project_id: string) => ({ ...PROJECT_KEY, project_id });
    unwrap(await coordinator.plans.put(projectNamed('planned'), planOf('A-001-x')));
    unwrap(await coordinator.plans.put(projectNamed('empty'), { tracks: {} }));
    unwrap(await coordinator.settings.configure(projectNamed('configured'), { files: {} }));
    const event = {
      event_type: 'note_from_elsewhere',
      timestamp: '2026-01-01T00:00:00.000Z',
      agent_id: 'a',
      payload: { imported: { file: 'old.jsonl', line: 1 } },
    };
    unwrap(
      await coordinator.imports.importEvents(projectNamed('imported'), {
        events: [{ ...event, event_id: IMPORTED }],
      }),
    );
    for (const name of ['planned', 'empty', 'configured', 'imported'])
      expect(await coordinator.queries.status(projectNamed(name))).toMatchObject({
        position: expect.any(Number),
      });
  });

  test('is accepted in the home project of the store before its first event', async () => {
    const { coordinator } = await open({ home: PROJECT_KEY });
    expect(await coordinator.queries.status(PROJECT_KEY)).toMatchObject({ position: 0 });
    expect(await coordinator.feed.page(PROJECT_KEY)).toMatchObject({ events: [] });
  });
});

const IMPORTED = '0197a1b2-0000-7000-8000-000000000001';
