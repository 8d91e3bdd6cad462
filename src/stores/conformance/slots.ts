import { describe, expect, it } from 'vitest';
import type { Outcome, ProjectKey, Slot } from '../store.js';
import { eventOf, kindsOf, range, type Scene, unitOf } from './scene.js';

const FOREVER = Number.POSITIVE_INFINITY;
const HOUR_MS = 3_600_000;

/** Every unit here has a note, as every unit that takes a place has an event to show for it. */
export function describeSlots(scene: () => Scene): void {
  describe('places', () => {
    const at = new Places(scene);
    describeRooms(scene, at);
    describeExpiry(scene, at);
    describeScopes(scene, at);
  });
}

class Places {
  constructor(private readonly scene: () => Scene) {}

  slot(member: string, until_ms: number | null, scope = 'work'): Slot {
    return { scope, member, until_ms };
  }

  /** Takes places where the scope `work` has room for `max`. */
  take(slots: readonly Slot[], max: number, project: ProjectKey = this.scene().project): Promise<Outcome> {
    const notes = [eventOf(project, {})];
    return this.scene().commit({ notes, slots, rooms: [{ scope: 'work', max }] }, project);
  }

  async occupied(scope = 'work'): Promise<number> {
    return this.scene().store.occupancy(this.scene().tenant_id, scope);
  }
}

function describeRooms(scene: () => Scene, at: Places): void {
  it('are given until the room is full; the scope is named, and nothing of that unit happens', async () => {
    for (const member of ['m1', 'm2']) {
      expect((await at.take([at.slot(member, FOREVER)], 2)).kind).toBe('committed');
    }
    const outcome = await scene().commit({
      swaps: [scene().swap('~a')],
      slots: [at.slot('m3', FOREVER)],
      rooms: [{ scope: 'work', max: 2 }],
    });
    expect(outcome).toMatchObject({ kind: 'full', scope: 'work' });
    expect(await scene().head('~a')).toBeNull();
    expect(await at.occupied()).toBe(2);
  });

  it('are free again once freed, and freeing one that is free does nothing', async () => {
    await at.take([at.slot('m1', FOREVER)], 1);
    expect((await at.take([at.slot('m1', null), at.slot('nobody', null)], 1)).kind).toBe('committed');
    expect(await at.occupied()).toBe(0);
    expect((await at.take([at.slot('m2', FOREVER)], 1)).kind).toBe('committed');
  });

  it('need no room for a member that is live already', async () => {
    await at.take([at.slot('m1', FOREVER)], 1);
    expect((await at.take([at.slot('m1', FOREVER)], 1)).kind).toBe('committed');
    expect(await at.occupied()).toBe(1);
  });

  it('stay with those who have them when the room gets smaller, and nobody new comes in', async () => {
    await at.take([at.slot('m1', FOREVER), at.slot('m2', FOREVER), at.slot('m3', FOREVER)], 3);
    expect((await at.take([at.slot('m1', FOREVER)], 1)).kind).toBe('committed');
    expect((await at.take([at.slot('m4', FOREVER)], 1)).kind).toBe('full');
    expect((await at.take([at.slot('m3', null)], 1)).kind).toBe('committed');
    expect(await at.occupied()).toBe(2);
  });

  it('are taken all together or not at all', async () => {
    await at.take([at.slot('m1', FOREVER)], 2);
    expect((await at.take([at.slot('m2', FOREVER), at.slot('m3', FOREVER)], 2)).kind).toBe('full');
    expect(await at.occupied()).toBe(1);
  });

  it('that a unit frees make room for those it takes', async () => {
    await at.take([at.slot('m1', FOREVER)], 1);
    expect((await at.take([at.slot('m2', FOREVER), at.slot('m1', null)], 1)).kind).toBe('committed');
    expect(await at.occupied()).toBe(1);
  });

  it('need no room to be named, and a full room stops nobody who takes no place in it', async () => {
    const notes = [eventOf(scene().project, {})];
    await scene().committed({ notes, slots: [at.slot('m1', FOREVER), at.slot('m2', FOREVER)] });
    expect((await at.take([], 0)).kind).toBe('committed');
    expect((await at.take([at.slot('m1', FOREVER, 'elsewhere')], 0)).kind).toBe('committed');
    expect((await at.take([at.slot('m3', FOREVER)], 0)).kind).toBe('full');
  });

  it('are seen by the units after them in the same commit', async () => {
    const { project, store } = scene();
    const outcomes = await store.commit(
      range(1, 3).map((n) =>
        unitOf(project, {
          notes: [eventOf(project, {})],
          slots: [at.slot(`m${n}`, FOREVER)],
          rooms: [{ scope: 'work', max: 2 }],
        }),
      ),
    );
    expect(kindsOf(outcomes)).toEqual(['committed', 'committed', 'full']);
  });

  it('are never more than the room, whoever races for them from several projects', async () => {
    const outcomes = await Promise.all(
      range(1, 30).map((n) => at.take([at.slot(`m${n}`, FOREVER)], 5, scene().key(`p${n % 3}`))),
    );
    expect(kindsOf(outcomes).filter((kind) => kind === 'committed')).toHaveLength(5);
    expect(kindsOf(outcomes).filter((kind) => kind === 'full')).toHaveLength(25);
    expect(await at.occupied()).toBe(5);
  });
}

function describeExpiry(scene: () => Scene, at: Places): void {
  it('are freed by time alone, and a member that ran out needs room again', async () => {
    const until_ms = (await scene().store.now()) + 20;
    await at.take([at.slot('m1', until_ms)], 1);
    await scene().pass(25);
    expect(await at.occupied()).toBe(0);
    expect((await at.take([at.slot('m2', FOREVER)], 1)).kind).toBe('committed');
    expect((await at.take([at.slot('m1', FOREVER)], 1)).kind).toBe('full');
  });

  it('are live before their time is reached and free when it is', async () => {
    const until_ms = (await scene().store.now()) + 20;
    await at.take([at.slot('m1', until_ms)], 1);
    let now_ms = 0;
    while (now_ms <= until_ms) {
      const trial = await at.take([at.slot('m2', until_ms + HOUR_MS)], 1);
      expect(trial.kind).toBe(trial.now_ms < until_ms ? 'full' : 'committed');
      now_ms = trial.now_ms;
      await scene().pass(1);
    }
  });

  it('that are over when they are taken were never taken', async () => {
    const now_ms = await scene().store.now();
    expect((await at.take([at.slot('m1', now_ms), at.slot('m2', now_ms - HOUR_MS)], 0)).kind).toBe(
      'committed',
    );
    expect(await at.occupied()).toBe(0);
  });

  it('end when the last word on them says, earlier or later', async () => {
    const now_ms = await scene().store.now();
    await at.take([at.slot('longer', now_ms + 20), at.slot('shorter', now_ms + HOUR_MS)], 9);
    await at.take([at.slot('longer', now_ms + HOUR_MS), at.slot('shorter', now_ms + 20)], 9);
    await scene().pass(25);
    expect(await at.occupied()).toBe(1);
    expect((await at.take([at.slot('longer', FOREVER)], 1)).kind).toBe('committed');
    expect((await at.take([at.slot('shorter', FOREVER)], 1)).kind).toBe('full');
  });

  it('without an end stay until they are freed', async () => {
    await at.take([at.slot('m1', FOREVER)], 1);
    await scene().pass(5);
    expect(await at.occupied()).toBe(1);
    await at.take([at.slot('m1', (await scene().store.now()) + 5)], 1);
    await scene().pass(10);
    expect(await at.occupied()).toBe(0);
  });
}

function describeScopes(scene: () => Scene, at: Places): void {
  it('of several scopes are counted apart, and the one that is full is named', async () => {
    await at.take([at.slot('m1', FOREVER, 'a'), at.slot('m1', FOREVER, 'b')], 0);
    const outcome = await scene().commit({
      notes: [eventOf(scene().project, {})],
      slots: [at.slot('m2', FOREVER, 'a'), at.slot('m2', FOREVER, 'b')],
      rooms: [
        { scope: 'a', max: 2 },
        { scope: 'b', max: 1 },
      ],
    });
    expect(outcome).toMatchObject({ kind: 'full', scope: 'b' });
    expect([await at.occupied('a'), await at.occupied('b'), await at.occupied('none')]).toEqual([1, 1, 0]);
  });

  it('of all projects of a tenant are counted together, and members of two projects never meet', async () => {
    const [one, two] = [scene().key('one'), scene().key('two')];
    expect((await at.take([at.slot('same', FOREVER)], 1, one)).kind).toBe('committed');
    expect((await at.take([at.slot('same', FOREVER)], 1, two)).kind).toBe('full');
    expect((await at.take([at.slot('same', FOREVER)], 2, two)).kind).toBe('committed');
    expect(await at.occupied()).toBe(2);
    await at.take([at.slot('same', null)], 2, two);
    expect(await at.occupied()).toBe(1);
    expect((await at.take([at.slot('same', FOREVER)], 1, one)).kind).toBe('committed');
  });

  it('of another tenant do not count', async () => {
    const other = scene().key('p', `${scene().tenant_id}-2`);
    await at.take([at.slot('m1', FOREVER)], 1);
    expect((await at.take([at.slot('m1', FOREVER)], 1, other)).kind).toBe('committed');
    expect(await at.occupied()).toBe(1);
  });
}
