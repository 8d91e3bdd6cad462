import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '../store.js';
import { eventOf, kindsOf, range, type Scene, unitOf } from './scene.js';

const request = (key: string, rest: Partial<RequestRecord> = {}): RequestRecord => ({
  key,
  digest: 'd1',
  keep: true,
  ...rest,
});

export function describeRequests(scene: () => Scene): void {
  describe('requests', () => {
    describeReplays(scene);
    describeForgetting(scene);
  });
}

function describeReplays(scene: () => Scene): void {
  it('take effect once: the same key again gets digest, reply and positions, and changes nothing', async () => {
    const reply = { code: 'GRANTED', 'ключ ✓': [1, null, { deep: true }] };
    await scene().committed({ swaps: [scene().swap('~first')] });
    await scene().committed({
      swaps: [scene().swap('~a', 0, 2)],
      notes: [eventOf(scene().project, {})],
      requests: [request('k', { reply })],
    });
    const again = await scene().commit({ swaps: [scene().swap('~b')], requests: [request('k')] });
    expect(again).toMatchObject({
      kind: 'replay',
      request: { key: 'k', digest: 'd1', reply, positions: [2, 3, 4] },
    });
    expect(await scene().head('~b')).toBeNull();
  });

  it('replay whatever the digest: comparing is the caller’s', async () => {
    await scene().committed({ swaps: [scene().swap('~a')], requests: [request('k')] });
    const again = await scene().commit({ requests: [request('k', { digest: 'd2' })] });
    expect(again).toMatchObject({ kind: 'replay', request: { key: 'k', digest: 'd1', positions: [1] } });
  });

  it('that brought no reply replay without one', async () => {
    await scene().committed({ swaps: [scene().swap('~a')], requests: [request('k')] });
    const again = await scene().commit({ requests: [request('k')] });
    expect(again.kind === 'replay' && (again.request.reply ?? null)).toBeNull();
  });

  it('leave out the positions of notes that were there already', async () => {
    const note = eventOf(scene().project, {});
    await scene().committed({ notes: [note] });
    await scene().committed({ swaps: [scene().swap('~a')], notes: [note], requests: [request('k')] });
    expect(await scene().commit({ requests: [request('k')] })).toMatchObject({
      kind: 'replay',
      request: { positions: [2] },
    });
  });

  it('are each remembered where a unit has several, and the first that is known is replayed', async () => {
    await scene().committed({
      swaps: [scene().swap('~a')],
      requests: [request('k1', { reply: 1 }), request('k2', { reply: 2 })],
    });
    const outcome = await scene().commit({
      swaps: [scene().swap('~b')],
      requests: [request('new'), request('k2'), request('k1')],
    });
    expect(outcome).toMatchObject({ kind: 'replay', request: { key: 'k2', reply: 2, positions: [1] } });
    await scene().committed({ swaps: [scene().swap('~b')], requests: [request('new')] });
  });

  it('are known to the units after them in the same commit', async () => {
    const { project, store } = scene();
    const outcomes = await store.commit([
      unitOf(project, { swaps: [scene().swap('~a')], requests: [request('k')] }),
      unitOf(project, { swaps: [scene().swap('~b')], requests: [request('k')] }),
    ]);
    expect(kindsOf(outcomes)).toEqual(['committed', 'replay']);
  });

  it('that race twenty times take effect once', async () => {
    const outcomes = await Promise.all(
      range(1, 20).map((n) => scene().commit({ swaps: [scene().swap(`~s${n}`)], requests: [request('k')] })),
    );
    const kinds = kindsOf(outcomes);
    expect(kinds.filter((kind) => kind === 'committed')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'replay')).toHaveLength(19);
    expect(await scene().store.project(scene().project)).toMatchObject({ position: 1 });
  });
}

function describeForgetting(scene: () => Scene): void {
  it('are only asked for, not remembered, where keep is false', async () => {
    const asking = request('k', { keep: false });
    await scene().committed({ swaps: [scene().swap('~a')], requests: [asking] });
    await scene().committed({ swaps: [scene().swap('~b')], requests: [asking] });
    await scene().committed({ swaps: [scene().swap('~c')], requests: [request('k')] });
    expect(await scene().commit({ requests: [asking] })).toMatchObject({ kind: 'replay' });
  });

  it('are not remembered with a unit that was refused', async () => {
    const now_ms = await scene().store.now();
    const requests = [request('k')];
    const far_ms = now_ms + 3_600_000;
    const refused = [
      await scene().commit({ requests, checks: [{ subject: '~none', expected_seq: 1 }] }),
      await scene().commit({ requests, not_before_ms: far_ms }),
      await scene().commit({ requests, not_after_ms: now_ms }),
      await scene().commit({
        requests,
        slots: [{ scope: 's', member: 'm', until_ms: far_ms }],
        rooms: [{ scope: 's', max: 0 }],
      }),
    ];
    expect(kindsOf(refused)).toEqual(['conflict', 'early', 'late', 'full']);
    await scene().committed({ swaps: [scene().swap('~a')], requests });
  });

  it('are still known a thousand requests later', async () => {
    const { project, store } = scene();
    await store.commit(
      range(1, 1000).map((n) =>
        unitOf(project, { swaps: [scene().swap(`~s${n}`)], requests: [request(`k${n}`)] }),
      ),
    );
    const [first] = await store.commit([unitOf(project, { requests: [request('k1')] })]);
    expect(first).toMatchObject({ kind: 'replay', request: { key: 'k1', positions: [1] } });
  });
}
