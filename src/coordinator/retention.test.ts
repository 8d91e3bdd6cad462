import { expect, test } from 'vitest';
import { Agent, human } from '../../test/support/agent.js';
import { answered, forEachStore, type House, P, planOf } from '../../test/support/house.js';
import { LogJudge } from '../core/claims/log-judge.js';
import type { EventEnvelope } from '../core/events/envelope.js';
import type { AnyHead } from '../core/fold.js';

const A = 'A-001-core';
const DAY_S = 24 * 3600;

/** Generation 1 fails with a word, a zombie's work is refused, generation 2 is accepted, generation 3 never comes. */
async function worked(house: House): Promise<void> {
  await house.plan(planOf(A));
  const first = new Agent(house, 'first', 'session-1');
  const second = new Agent(house, 'second', 'session-2');
  await first.claims(A, { metadata: { secret: 'of the first' } });
  await first.notes(A, 'a remark of the first');
  await first.releases(A, { reason: 'ERROR', message: 'secret error' });
  house.advance(3600);
  await second.claims(A, { metadata: { secret: 'of the second' } });
  expect(await first.submits(A, { secret: 'of the zombie' })).toMatchObject({ accepted: false });
  expect(await second.submits(A, { kept: 'for ever' })).toMatchObject({ accepted: true });
}

const saysOf = (events: readonly EventEnvelope[]) => JSON.stringify(events);

async function violations(house: House): Promise<unknown[]> {
  const judge = new LogJudge();
  const found = (await house.events()).flatMap((event) => judge.see(event));
  const heads = (await house.store.scanHeads(P, { after: null, limit: 1000 })) as AnyHead[];
  return [...found, ...judge.finish(heads)];
}

forEachStore('retention', (open) => {
  test('takes out what was said in the past, and keeps what happened, what counts and every head', async () => {
    const house = await open();
    await worked(house);
    const heads = await house.store.scanHeads(P, { after: null, limit: 1000 });
    const before = await house.events();
    house.advance(90 * DAY_S - 3700);
    expect(await house.coordinator.forgetHistory()).toBe(0);
    house.advance(DAY_S);
    expect(await house.coordinator.forgetHistory()).toBe(4);
    const after = await house.events();
    for (const gone of ['of the first', 'a remark', 'secret error', 'of the zombie']) {
      expect(saysOf(before)).toContain(gone);
      expect(saysOf(after)).not.toContain(gone);
    }
    expect(saysOf(after)).toContain('for ever');
    expect(saysOf(after)).toContain('of the second');
    expect(after.slice(0, -1).map(({ payload: _, ...envelope }) => envelope)).toEqual(
      before.map(({ payload: _, ...envelope }) => envelope),
    );
    expect(await house.store.scanHeads(P, { after: null, limit: 1000 })).toEqual(heads);
    expect(await violations(house)).toEqual([]);
  });

  test('tells of itself once, and a second round finds nothing', async () => {
    const house = await open();
    await worked(house);
    house.advance(91 * DAY_S);
    expect(await house.coordinator.forgetHistory()).toBe(4);
    expect(await house.coordinator.forgetHistory()).toBe(0);
    const told = (await house.events()).filter(({ event_type }) => event_type === 'HISTORY_FORGOTTEN');
    expect(told).toHaveLength(1);
    expect(told[0]?.payload).toMatchObject({ retention_days: 90 });
    await house.restart();
    expect(await house.coordinator.queries.getTaskState(P, A)).toMatchObject({
      phase: 'COMPLETED',
      parked: 0,
    });
    expect(await house.coordinator.queries.agents(P)).toMatchObject({
      agents: [{ agent_id: 'first' }, { agent_id: 'second' }],
    });
  });

  test('finishes what was cut short between the telling and the forgetting', async () => {
    const house = await open();
    await worked(house);
    house.advance(91 * DAY_S);
    const { forget } = house.store;
    house.store.forget = async () => {
      throw new Error('cut short');
    };
    await expect(house.coordinator.forgetHistory()).rejects.toThrow('cut short');
    house.store.forget = forget;
    expect(saysOf(await house.events())).toContain('of the zombie');
    expect(await house.coordinator.forgetHistory()).toBe(4);
    expect(saysOf(await house.events())).not.toContain('of the zombie');
    const told = (await house.events()).filter(({ event_type }) => event_type === 'HISTORY_FORGOTTEN');
    expect(told).toHaveLength(1);
  });

  test('leaves refused work to be adopted until its time has come, and nobody can adopt it after', async () => {
    const adopted = async (after_days: number) => {
      const house = await open();
      await house.plan(planOf(A));
      const [zombie, successor] = [new Agent(house, 'first', 's1'), new Agent(house, 'second', 's2')];
      await zombie.claims(A);
      await zombie.releases(A);
      await successor.claims(A);
      await successor.releases(A);
      const { parked } = await zombie.submits(A, { worth: 'keeping' });
      house.advance(after_days * DAY_S);
      await house.coordinator.forgetHistory();
      const body = { expected_generation: 2, reason: 'want it', result_id: parked };
      return answered(await house.coordinator.operate(P, A, 'adopt', body, human('admin')));
    };
    expect(await adopted(89)).toMatchObject({ success: true, reason: 'ADOPTED' });
    expect(await adopted(91)).toMatchObject({ success: false, reason: 'UNKNOWN_RESULT' });
  });

  test.each([
    ['hipaa', 6 * 365 + 2],
    ['soc2', 365],
    ['pci', 365],
  ] as const)('is outranked by the compliance profile %s: %i days', async (compliance_profile, days) => {
    const house = await open();
    await worked(house);
    answered(await house.coordinator.settings.putPolicy(P, { compliance_profile }, human('admin')));
    house.advance((days - 1) * DAY_S);
    expect(await house.coordinator.forgetHistory()).toBe(0);
    house.advance(2 * DAY_S);
    expect(await house.coordinator.forgetHistory()).toBe(4);
  });

  test('comes by itself, an hour after the project came to work and every day after that', async () => {
    const house = await open();
    await worked(house);
    const forgets: number[] = [];
    const { forget } = house.store;
    const done = new Promise<void>((resolve) => {
      house.store.forget = async (project, events) => {
        await forget.call(house.store, project, events);
        forgets.push(events.length);
        resolve();
      };
    });
    house.advance(91 * DAY_S);
    // The first round of the sweeper sees the project, the next one finds it an hour older.
    for (let round = 0; round < 50 && forgets.length === 0; round += 1) {
      house.advance(2 * 3600);
      house.world.ring();
      await house.world.breathe();
    }
    await done;
    expect(forgets).toEqual([4]);
  });
});
