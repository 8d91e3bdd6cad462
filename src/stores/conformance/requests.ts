import type { RequestRecord } from '../store.js';
import { expect } from './expect.js';
import { eventOf, kindsOf, range, type StoreFixture, transactionOf } from './fixture.js';
import { describe, it } from './test-list.js';

const requestRecord = (key: string, fields: Partial<RequestRecord> = {}): RequestRecord => ({
  key,
  digest: 'd1',
  keep: true,
  ...fields,
});

export function describeRequests(fixture: () => StoreFixture): void {
  describe('requests', () => {
    describeReplays(fixture);
    describeRequestExpiry(fixture);
  });
}

function describeReplays(fixture: () => StoreFixture): void {
  it('take effect once: a repeated key returns digest, reply and positions, and changes nothing', async () => {
    const reply = { code: 'GRANTED', 'ключ ✓': [1, null, { deep: true }] };
    await fixture().expectCommitted({ swaps: [fixture().swap('~first')] });
    await fixture().expectCommitted({
      swaps: [fixture().swap('~a', 0, 2)],
      loose_events: [eventOf(fixture().projectKey, {})],
      requests: [requestRecord('k', { reply })],
    });
    const repeated = await fixture().commit({
      swaps: [fixture().swap('~b')],
      requests: [requestRecord('k')],
    });
    expect(repeated).toMatchObject({
      kind: 'replay',
      request: { key: 'k', digest: 'd1', reply, positions: [2, 3, 4] },
    });
    expect(await fixture().head('~b')).toBeNull();
  });

  it('are replayed for any digest, because the caller compares the digests', async () => {
    await fixture().expectCommitted({ swaps: [fixture().swap('~a')], requests: [requestRecord('k')] });
    const repeated = await fixture().commit({ requests: [requestRecord('k', { digest: 'd2' })] });
    expect(repeated).toMatchObject({ kind: 'replay', request: { key: 'k', digest: 'd1', positions: [1] } });
  });

  it('without a reply are replayed without one', async () => {
    await fixture().expectCommitted({ swaps: [fixture().swap('~a')], requests: [requestRecord('k')] });
    const repeated = await fixture().commit({ requests: [requestRecord('k')] });
    expect(repeated.kind === 'replay' && (repeated.request.reply ?? null)).toBeNull();
  });

  it('are replayed without the positions of loose events that existed before', async () => {
    const looseEvent = eventOf(fixture().projectKey, {});
    await fixture().expectCommitted({ loose_events: [looseEvent] });
    await fixture().expectCommitted({
      swaps: [fixture().swap('~a')],
      loose_events: [looseEvent],
      requests: [requestRecord('k')],
    });
    expect(await fixture().commit({ requests: [requestRecord('k')] })).toMatchObject({
      kind: 'replay',
      request: { positions: [2] },
    });
  });

  it('of one transaction are all remembered, and the first known one is replayed', async () => {
    await fixture().expectCommitted({
      swaps: [fixture().swap('~a')],
      requests: [requestRecord('k1', { reply: 1 }), requestRecord('k2', { reply: 2 })],
    });
    const outcome = await fixture().commit({
      swaps: [fixture().swap('~b')],
      requests: [requestRecord('new'), requestRecord('k2'), requestRecord('k1')],
    });
    expect(outcome).toMatchObject({ kind: 'replay', request: { key: 'k2', reply: 2, positions: [1] } });
    await fixture().expectCommitted({ swaps: [fixture().swap('~b')], requests: [requestRecord('new')] });
  });

  it('are known to later transactions of the same commit', async () => {
    const { projectKey, store } = fixture();
    const outcomes = await store.commit([
      transactionOf(projectKey, { swaps: [fixture().swap('~a')], requests: [requestRecord('k')] }),
      transactionOf(projectKey, { swaps: [fixture().swap('~b')], requests: [requestRecord('k')] }),
    ]);
    expect(kindsOf(outcomes)).toEqual(['committed', 'replay']);
  });

  it('sent twenty times concurrently take effect once', async () => {
    const outcomes = await Promise.all(
      range(1, 20).map((n) =>
        fixture().commit({ swaps: [fixture().swap(`~s${n}`)], requests: [requestRecord('k')] }),
      ),
    );
    const kinds = kindsOf(outcomes);
    expect(kinds.filter((kind) => kind === 'committed')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'replay')).toHaveLength(19);
    expect(await fixture().store.project(fixture().projectKey)).toMatchObject({ position: 1 });
  });
}

function describeRequestExpiry(fixture: () => StoreFixture): void {
  it('are looked up but not remembered if keep is false', async () => {
    const lookup = requestRecord('k', { keep: false });
    await fixture().expectCommitted({ swaps: [fixture().swap('~a')], requests: [lookup] });
    await fixture().expectCommitted({ swaps: [fixture().swap('~b')], requests: [lookup] });
    await fixture().expectCommitted({ swaps: [fixture().swap('~c')], requests: [requestRecord('k')] });
    expect(await fixture().commit({ requests: [lookup] })).toMatchObject({ kind: 'replay' });
  });

  it('of a refused transaction are not remembered', async () => {
    const nowMs = await fixture().store.now();
    const requests = [requestRecord('k')];
    const laterMs = nowMs + 3_600_000;
    const refused = [
      await fixture().commit({ requests, checks: [{ subject: '~none', expected_seq: 1 }] }),
      await fixture().commit({ requests, not_before_ms: laterMs }),
      await fixture().commit({ requests, not_after_ms: nowMs }),
      await fixture().commit({
        requests,
        permits: [{ scope: 's', member: 'm', until_ms: laterMs }],
        permit_limits: [{ scope: 's', max: 0 }],
      }),
    ];
    expect(kindsOf(refused)).toEqual(['conflict', 'early', 'late', 'full']);
    await fixture().expectCommitted({ swaps: [fixture().swap('~a')], requests });
  });

  it('are still known after three hundred requests', async () => {
    const { projectKey, store } = fixture();
    await store.commit(
      range(1, 300).map((n) =>
        transactionOf(projectKey, { swaps: [fixture().swap(`~s${n}`)], requests: [requestRecord(`k${n}`)] }),
      ),
    );
    const [first] = await store.commit([transactionOf(projectKey, { requests: [requestRecord('k1')] })]);
    expect(first).toMatchObject({ kind: 'replay', request: { key: 'k1', positions: [1] } });
  });
}
