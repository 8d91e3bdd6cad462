import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyHead, type Head } from '../claims/head.js';
import { ClaimHeads, HEADS_PER_PAGE } from './claim-heads.js';
import { packedSubject, packHead, unpackHead } from './packed-head.js';

const completed = (subject: string, seq = 3): Head => ({
  ...emptyHead(subject),
  seq,
  generation: 1,
  phase: 'COMPLETED',
  result: {
    result_id: `res_${seq}`,
    generation: 1,
    agent_id: 'agent',
    session_id: 'session',
    sha256: 'f'.repeat(64),
    work_product_ref: `wp-${subject}`,
    submitted_at_ms: 1_800_000_000_000,
  },
  claim: {
    state: 'RELEASED',
    agent_id: 'agent',
    session_id: 'session',
    agent_role: null,
    user_id: 'user "ü"',
    request_id: null,
    claimed_at_ms: 1,
    lease_seconds: 300,
    expires_at_ms: 2,
    active_at_ms: 3,
    max_hold_until_ms: null,
    suspended_until_ms: null,
    stale: false,
    release_reason: 'COMPLETED',
    inputs: null,
    metadata: { model: 'a\nb' },
  },
});

const claimed = (subject: string, generation: number, leaseEndMs: number): Head => {
  const head = completed(subject);
  const claim = { ...head.claim, state: 'ACTIVE', expires_at_ms: leaseEndMs } as Head['claim'];
  return { ...emptyHead(subject), phase: 'OPEN', generation, claim };
};

describe('the latest end of a lease of a session', () => {
  const endsAfter = (heads: readonly Head[]) => {
    const claims = new ClaimHeads();
    for (const head of heads) claims.set(head.subject, head);
    return claims.index.latestLeaseEndBySession.get('session');
  };

  it('follows grants, renewals and a grant of the next generation, in whole seconds', () => {
    expect(endsAfter([claimed('A-001', 1, 2001), claimed('A-002', 1, 1000)])).toBe(3000);
    expect(endsAfter([claimed('A-001', 1, 1000), claimed('A-001', 1, 4000)])).toBe(4000);
    expect(endsAfter([claimed('A-001', 1, 1000), claimed('A-001', 2, 5000)])).toBe(5000);
    expect(endsAfter([claimed('A-001', 1, 1000), completed('A-001')])).toBe(undefined);
  });

  it('is infinite for a session with an edge, whose claim may outlast its lease', () => {
    expect(endsAfter([claimed('REQ-F-1#code', 1, 1000), claimed('A-001', 1, 2000)])).toBe(
      Number.POSITIVE_INFINITY,
    );
  });
});

describe('a packed head', () => {
  it('is the same after unpacking', () => {
    const head = completed('A-001-work');
    expect(unpackHead(packHead(head))).toEqual(head);
    const unclaimed: Head = { ...emptyHead('A-002-work'), phase: 'COMPLETED', last_at_ms: 7 };
    expect(unpackHead(packHead(unclaimed))).toEqual(unclaimed);
    const withDefaults = { ...head, claim: { ...head.claim, user_id: null, metadata: null } } as Head;
    expect(unpackHead(packHead(withDefaults))).toEqual(withDefaults);
  });

  it('is one line, and its subject can be read without unpacking it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (subject) => {
        const line = packHead(completed(subject));
        expect(line).not.toContain('\n');
        expect(packedSubject(line)).toBe(unpackHead(line).subject);
      }),
    );
  });
});

const SUBJECTS_MAX = 40;

describe('heads with packed pages', () => {
  it('equal the heads of a plain map, whatever heads are set and in any order', () => {
    const step = fc.record({ subject: fc.nat(SUBJECTS_MAX), isCompleted: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 400 }),
        fc.integer({ min: 1, max: 6 }),
        (steps, headsPerPage) => {
          const heads = new ClaimHeads(headsPerPage);
          const plainMap = new Map<string, Head>();
          for (const [index, { subject, isCompleted }] of steps.entries()) {
            const id = `T-${String(subject).padStart(3, '0')}-work`;
            const head = isCompleted ? completed(id, index) : { ...emptyHead(id), seq: index };
            heads.set(id, head);
            plainMap.set(id, head);
          }
          expectEqualHeads(heads, plainMap);
          const loadedHeads = new ClaimHeads(headsPerPage);
          const { pages, heads: unpackedHeads, summary } = heads.snapshot();
          loadedHeads.loadPages(pages, summary);
          for (const head of unpackedHeads) loadedHeads.set(head.subject, head);
          expectEqualHeads(loadedHeads, plainMap);
          expect(loadedHeads.index).toEqual(heads.index);
        },
      ),
    );
  });

  it('are all in a snapshot that is read while heads are packed and replaced', () => {
    const heads = new ClaimHeads(4);
    for (let index = 0; index < 10; index += 1) heads.set(`T-${index}`, completed(`T-${index}`));
    const { pages, heads: unpackedHeads, summary } = heads.snapshot();
    for (let index = 0; index < 10; index += 1) heads.set(`T-${index}`, completed(`T-${index}`, 9));
    for (let index = 10; index < 20; index += 1) heads.set(`T-${index}`, completed(`T-${index}`));
    const loadedHeads = new ClaimHeads(4);
    loadedHeads.loadPages(pages, summary);
    for (const head of unpackedHeads) loadedHeads.set(head.subject, head);
    for (let index = 0; index < 10; index += 1) expect(loadedHeads.isCompleted(`T-${index}`)).toBe(true);
  });

  it('keep no page of outdated heads', () => {
    const heads = new ClaimHeads();
    for (let seq = 1; seq <= 20 * HEADS_PER_PAGE; seq += 1) heads.set('T-1', completed('T-1', seq));
    expect(heads.snapshot().pages.join('').length).toBeLessThan(10_000);
    expect(heads.get('T-1')?.seq).toBe(20 * HEADS_PER_PAGE);
  });
});

function expectEqualHeads(heads: ClaimHeads, plainMap: ReadonlyMap<string, Head>): void {
  expect(new Map(heads)).toEqual(plainMap);
  expect(heads.size).toBe(plainMap.size);
  for (const [subject, head] of plainMap) {
    expect(heads.get(subject)).toEqual(head);
    expect(heads.isCompleted(subject)).toBe(head.phase === 'COMPLETED');
  }
  const completedTasks = [...plainMap.values()].filter(({ phase }) => phase === 'COMPLETED').length;
  expect(heads.completedTasks).toBe(completedTasks);
}
