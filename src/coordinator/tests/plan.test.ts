import { expect, test } from 'vitest';
import { HarnessAgent, personCaller } from '../../../test/support/agent.js';
import { forEachStore, PROJECT_KEY, planOf, unwrap } from '../../../test/support/coordinator-harness.js';
import { isProblem } from '../wire/problem.js';

const YAML = `project: shop
tracks:
  A:
    - id: A-001-core
      description: the core
    - id: A-002-bus
      description: the bus
  B:
    - id: B-001-data
      description: the data
      depends_on: [A-001-core]
      subtasks: 2
`;

forEachStore('the plan', (open) => {
  async function openWithAgent() {
    const harness = await open();
    return {
      harness,
      coordinator: harness.coordinator,
      alpha: new HarnessAgent(harness, 'alpha', 's1'),
    };
  }

  // req: PLN-007
  test('is read from YAML, can be read back, and creates its project', async () => {
    const { harness, coordinator } = await openWithAgent();
    expect(await coordinator.plans.put(PROJECT_KEY, YAML)).toEqual({
      version: 1,
      added: 3,
      changed: 0,
      removed: 0,
      task_count: 3,
    });
    expect(await coordinator.queries.projectsOf('acme')).toEqual(['shop']);
    await harness.restart();
    expect(await harness.coordinator.plans.get(PROJECT_KEY)).toEqual({
      version: 1,
      plan: {
        project: 'shop',
        tracks: {
          A: [
            { id: 'A-001-core', description: 'the core' },
            { id: 'A-002-bus', description: 'the bus' },
          ],
          B: [{ id: 'B-001-data', description: 'the data', depends_on: ['A-001-core'], subtasks: 2 }],
        },
      },
    });
  });

  test('does not change when the same plan is put again, and a new plan reports what changed', async () => {
    const { harness, coordinator } = await openWithAgent();
    await coordinator.plans.put(PROJECT_KEY, YAML);
    const position = await harness.position();
    expect(await coordinator.plans.put(PROJECT_KEY, YAML)).toMatchObject({
      version: 1,
      added: 0,
      changed: 0,
      removed: 0,
    });
    expect(await harness.position()).toBe(position);
    const other = planOf({ id: 'A-001-core', description: 'the better core' }, 'C-001-api');
    expect(await coordinator.plans.put(PROJECT_KEY, other, {}, personCaller('lead'))).toEqual({
      version: 2,
      added: 1,
      changed: 1,
      removed: 2,
      task_count: 2,
    });
    expect((await harness.events()).at(-1)).toMatchObject({ event_type: 'PLAN_CHANGED', agent_id: 'lead' });
  });

  test('with faults is refused with the line of each fault, and nothing changes', async () => {
    const { harness, coordinator } = await openWithAgent();
    await coordinator.plans.put(PROJECT_KEY, YAML);
    const position = await harness.position();
    const wrong = YAML.replace('[A-001-core]', '[A-009-nope]').replace('A-002-bus', 'A-001-core');
    const reply = await coordinator.plans.put(PROJECT_KEY, wrong);
    expect(reply).toMatchObject({ problem: 'INVALID_PLAN', detail: expect.stringContaining('line 6') });
    const faults = isProblem(reply) ? (reply.faults ?? []) : [];
    expect(faults.map((fault) => fault.line)).toEqual([6, 11]);
    expect(faults[1]?.message).toContain('A-009-nope');
    const cycle = planOf(
      { id: 'A-001-x', depends_on: ['A-002-x'] },
      { id: 'A-002-x', depends_on: ['A-001-x'] },
    );
    expect(await coordinator.plans.put(PROJECT_KEY, cycle)).toMatchObject({
      problem: 'INVALID_PLAN',
      detail: expect.stringMatching(/A-001-x.*A-002-x|A-002-x.*A-001-x/),
    });
    expect(await coordinator.plans.put(PROJECT_KEY, 'tracks: [')).toMatchObject({ problem: 'INVALID_PLAN' });
    expect(await harness.position()).toBe(position);
    expect(unwrap(await coordinator.plans.get(PROJECT_KEY)).version).toBe(1);
  });

  test('cannot lose a task that has been claimed', async () => {
    const { coordinator, alpha } = await openWithAgent();
    await coordinator.plans.put(PROJECT_KEY, YAML);
    await alpha.claim('A-001-core');
    await alpha.release('A-001-core');
    const reply = await coordinator.plans.put(PROJECT_KEY, planOf('A-002-bus'));
    expect(reply).toMatchObject({ problem: 'INVALID_PLAN', detail: expect.stringContaining('A-001-core') });
    expect(await coordinator.plans.put(PROJECT_KEY, planOf('A-001-core'))).toMatchObject({
      version: 2,
      removed: 2,
    });
  });

  test('is replaced only at the version in if_match, if it is given', async () => {
    const { harness, coordinator } = await openWithAgent();
    await coordinator.plans.put(PROJECT_KEY, YAML, { if_match: 0 });
    const position = await harness.position();
    expect(await coordinator.plans.put(PROJECT_KEY, planOf('A-001-core'), { if_match: 0 })).toMatchObject({
      problem: 'PLAN_CHANGED',
      detail: expect.stringContaining('version 1'),
    });
    expect(await harness.position()).toBe(position);
    expect(await coordinator.plans.put(PROJECT_KEY, planOf('A-001-core'), { if_match: 1 })).toMatchObject({
      version: 2,
    });
  });

  test('is replaced by only one of several concurrent replacements of the same version', async () => {
    const { coordinator } = await openWithAgent();
    const replies = await Promise.all(
      ['A-001-x', 'A-001-y', 'A-001-z'].map((id) =>
        coordinator.plans.put(PROJECT_KEY, planOf(id), { if_match: 0 }),
      ),
    );
    expect(replies.filter((reply) => 'version' in reply)).toHaveLength(1);
    expect(replies.filter((reply) => 'problem' in reply && reply.problem === 'PLAN_CHANGED')).toHaveLength(2);
  });

  test('accepts added tasks and subtasks under the same rules, also concurrently', async () => {
    const { harness, coordinator } = await openWithAgent();
    await coordinator.plans.put(PROJECT_KEY, YAML);
    const taskWith = (id: string, more = {}) => ({ id, description: id, ...more });
    const replies = await Promise.all([
      coordinator.plans.add(PROJECT_KEY, [taskWith('A-003-log'), taskWith('B-001-data::3')]),
      coordinator.plans.add(PROJECT_KEY, [taskWith('C-001-api', { depends_on: ['A-003-log'] })]),
    ]);
    expect(replies).toMatchObject([
      { version: 2, added: 1, changed: 1, task_count: 4 },
      { version: 3, added: 1, task_count: 5 },
    ]);
    const position = await harness.position();
    for (const tasks of [
      [taskWith('A-003-log')],
      [taskWith('D-001-x', { depends_on: ['Q-001-x'] })],
      [taskWith('bad')],
      'x',
      [7],
    ]) {
      expect(await coordinator.plans.add(PROJECT_KEY, tasks)).toMatchObject({ problem: 'INVALID_PLAN' });
    }
    expect(await harness.position()).toBe(position);
  });

  // req: PLN-009
  test('makes a task without depends_on wait for the previous task of its track', async () => {
    const { coordinator, alpha } = await openWithAgent();
    await coordinator.plans.put(PROJECT_KEY, YAML);
    expect(await alpha.claim('A-002-bus')).toMatchObject({ waiting_for: ['A-001-core'] });
    expect(await alpha.claim('B-001-data::1')).toMatchObject({ waiting_for: ['A-001-core'] });
  });

  test('that adds dependencies to a claimed task changes what its result builds on', async () => {
    const { coordinator, alpha } = await openWithAgent();
    await coordinator.plans.put(PROJECT_KEY, planOf('A-001-x', 'B-001-x'));
    await alpha.claim('A-001-x');
    unwrap(
      await coordinator.plans.put(PROJECT_KEY, planOf({ id: 'A-001-x', depends_on: ['B-001-x'] }, 'B-001-x')),
    );
    expect(await alpha.submit('A-001-x')).toMatchObject({ accepted: false, reason: 'DEPENDENCY_CHANGED' });
  });
});
