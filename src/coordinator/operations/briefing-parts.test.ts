import { expect, test } from 'vitest';
import { HarnessAgent } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { coordinationConfig, evaluatorReport, FILES } from '../../../test/support/workspace-files.js';

const BRIEFING_BYTES_MAX = 8 * 1024;
const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

forEachStore('a briefing', (open) => {
  async function openWithTasks(...tasks: (string | Record<string, unknown>)[]) {
    const harness = await open();
    await harness.plan(planOf(...tasks));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const complete = async (id: string, result: unknown, ...notes: string[]) => {
      await alpha.claim(id);
      for (const text of notes) await alpha.notes(id, text);
      await alpha.submit(id, result);
    };
    return { harness, alpha, complete };
  }

  test('contains small results of dependencies, their notes, and the call that reads a larger result', async () => {
    const { harness, alpha, complete } = await openWithTasks('A-001-small', 'B-001-large', {
      id: 'C-001-work',
      depends_on: ['A-001-small', 'B-001-large'],
    });
    await complete('A-001-small', { port: 5432 }, 'the port is fixed');
    await complete('B-001-large', { text: 'x'.repeat(2000) });
    const { briefing } = await alpha.next();
    const [small, large] = briefing?.dependencies ?? [];
    expect(small).toMatchObject({ task_id: 'A-001-small', result: { port: 5432 } });
    expect(small?.notes).toMatchObject([{ agent_id: 'alpha', text: 'the port is fixed' }]);
    expect(small).not.toHaveProperty('read');
    expect(large).not.toHaveProperty('result');
    const resultId = large?.read?.split('/').at(-1) ?? '';
    expect(large?.read).toMatch(/^GET \/api\/tenants\/.+\/tasks\/B-001-large\/results\/res_/);
    expect(
      unwrap(await harness.coordinator.queries.getResult(PROJECT_KEY, 'B-001-large', resultId)),
    ).toMatchObject({
      accepted: true,
      result_data: { text: 'x'.repeat(2000) },
    });
  });

  test('stays within 8 KiB with many dependencies, and keeps the instructions', async () => {
    const ids = Array.from({ length: 12 }, (_, at) => `A-${String(at + 1).padStart(3, '0')}-x`);
    const { alpha, complete } = await openWithTasks(...ids, {
      id: 'B-001-work',
      depends_on: ids,
      instructions: 'Use all of them.',
    });
    for (const id of ids) await complete(id, { text: 'y'.repeat(900) }, 'n'.repeat(900));
    const { briefing } = await alpha.next();
    expect(sizeOf(briefing)).toBeLessThanOrEqual(BRIEFING_BYTES_MAX);
    expect(briefing?.instructions).toBe('Use all of them.');
    expect(briefing?.dependencies.length).toBe(12);
    expect(briefing?.dependencies.some(({ result }) => result !== undefined)).toBe(true);
  });

  test('of an edge contains its guidance, its checks and the checks that the last iteration failed', async () => {
    const harness = await open();
    const config = FILES['graph/edges/design_code.yml'];
    const files = {
      ...FILES,
      'coordination.yml': coordinationConfig({}),
      'graph/edges/design_code.yml': `${config}agent_guidance: |\n  Follow the design.\n`,
    };
    unwrap(await harness.coordinator.settings.configure(PROJECT_KEY, { files }));
    const alpha = new HarnessAgent(harness, 'alpha', 's1');
    const edge = 'REQ-F-A#design_code';
    await alpha.claim(edge, { agent_role: 'full_stack' });
    const { evaluators } = evaluatorReport({ compiles: 'fail', reads_well: 'pass' });
    const details = evaluators.details.map((detail) => ({ ...detail, says: 'line 3' }));
    unwrap(
      await harness.coordinator.holder.appendEvent(PROJECT_KEY, {
        event_type: 'iteration_completed',
        agent_id: 'alpha',
        ...alpha.handle(edge),
        payload: { iteration: 1, status: 'iterating', evaluators: { ...evaluators, details } },
      }),
    );
    await alpha.release(edge);
    const { briefing } = await alpha.claim(edge, { with_briefing: true });
    expect(briefing?.description).toBe('the feature REQ-F-A');
    expect(briefing?.instructions).toBe('Follow the design.');
    expect(briefing?.checks?.map(({ name }) => name)).toEqual(['compiles', 'reads_well']);
    expect(briefing?.failed).toEqual([{ name: 'compiles', says: 'line 3' }]);
    expect(briefing?.dependencies.every(({ task_id }) => task_id.startsWith('REQ-F-A#'))).toBe(true);
  });
});
