import { describe, expect, it } from 'vitest';
import type { EventDraft, EventEnvelope } from '../events/envelope.js';
import { type AnyHead, fold } from '../fold.js';
import { emptyHead, type Head } from './head.js';
import { type InvariantViolation, LogChecker } from './invariants.js';
import type { Rules } from './policy.js';
import {
  accepted,
  ada,
  bob,
  EDGE,
  EDGE_RULES,
  escalated,
  expired,
  granted,
  held,
  isoAt,
  type PastEventBuilder,
  pastEvent,
  released,
  reset,
  resultPayload,
  suspended,
  TASK,
  TASK_RULES,
} from './testing/given.js';

type LoggedEvent = [subject: string, buildEvent: PastEventBuilder, forged?: Partial<EventEnvelope>];

/** A log as a store keeps it, with forged fields, and the heads folded from its events. */
function logOf(logged: readonly LoggedEvent[]): { events: EventEnvelope[]; heads: Map<string, AnyHead> } {
  const heads = new Map<string, AnyHead>();
  const events = logged.map(([subject, buildEvent, forged], index): EventEnvelope => {
    const before = (heads.get(subject) as Head | undefined) ?? emptyHead(subject);
    const ids = { event_id: `event-${index}`, tenant_id: 't', project_id: 'p', position: index + 1 };
    const event = { ...buildEvent(before), ...ids, ...forged };
    if (event.seq !== undefined) heads.set(subject, fold(before, event as EventDraft));
    return event;
  });
  return { events, heads };
}

function checkLog(logged: readonly LoggedEvent[], rules: Rules = TASK_RULES): InvariantViolation[] {
  const checker = new LogChecker(() => rules);
  return logOf(logged).events.flatMap((event) => checker.checkEvent(event));
}

const onTask = (...builders: PastEventBuilder[]): LoggedEvent[] =>
  builders.map((buildEvent) => [TASK, buildEvent]);
const brokenInvariants = (violations: readonly InvariantViolation[]): string[] => [
  ...new Set(violations.map(({ invariant }) => invariant)),
];

/** The same event without a seq, as an event that changes no head. */
const withoutSeq = (buildEvent: PastEventBuilder): PastEventBuilder => {
  return (head) => {
    const { seq: _, ...event } = buildEvent(head);
    return event;
  };
};
const approved = pastEvent('reviewed', 3, {
  decision: 'APPROVED',
  iteration: 1,
  candidate_sha256: 'aa11',
  reviewer: 'hana',
});
const parkedOf = (sha256: string): PastEventBuilder =>
  withoutSeq(
    pastEvent('result_refused', 5, {
      submitted_generation: 1,
      current_generation: 2,
      rejection_reason: 'STALE_GENERATION',
      work_lost: true,
      parked: true,
      metadata: { result_size_bytes: 10 },
      ...resultPayload(sha256, 1, TASK),
    }),
  );
const adoptedOf = (sha256: string): PastEventBuilder =>
  pastEvent('adopted', 6, {
    reason: 'good',
    by: 'hana',
    adopted_from: { result_id: `result-${sha256}`, generation: 1, agent_id: 'ada', session_id: 's-1' },
    ...resultPayload(sha256, 1, TASK),
  });

const IMPORTED_ID = '0d3e6a52-6d0b-8d5e-9a55-8c1f6b7d2c11';
const importedConvergence = (event_type: string, edge: string): LoggedEvent => [
  'none',
  withoutSeq(held(0)),
  {
    event_type,
    event_id: IMPORTED_ID,
    subject: undefined as never,
    feature_id: 'REQ-F-AUTH-001',
    edge,
    payload: { imported: { source: 'old.jsonl', line: 1 } },
  },
];
const importAdoption = (position: number): LoggedEvent[] => [
  [EDGE, granted(ada, 1)],
  [
    EDGE,
    pastEvent('adopted', 1, {
      reason: 'good',
      by: 'hana',
      adopted_from: { imported: true, event_id: IMPORTED_ID, position },
      ...resultPayload('bb22', 1, EDGE),
    }),
  ],
];

describe('a valid log', () => {
  it('may adopt the convergence that an imported event reports', () => {
    for (const type of ['edge_converged', 'convergence_achieved'])
      expect(checkLog([importedConvergence(type, 'design→code'), ...importAdoption(1)], EDGE_RULES)).toEqual(
        [],
      );
  });

  it('has no violations: takeover, late result, reset, gate, adoption, merge', () => {
    const takeover = onTask(granted(ada, 0), expired(300), granted(bob, 300), accepted(400), reset(500));
    const gate = onTask(
      granted(ada, 600),
      escalated(601),
      pastEvent('reviewed', 602, approvedPayload),
      accepted(602),
    );
    expect(checkLog([...takeover, ...gate])).toEqual([]);
    const adoption = onTask(
      granted(ada, 0),
      released(1),
      granted(bob, 2),
      parkedOf('bb22'),
      adoptedOf('bb22'),
    );
    expect(checkLog(adoption)).toEqual([]);
    const children: LoggedEvent[] = ['::1', '::2'].flatMap((suffix): LoggedEvent[] => [
      [TASK + suffix, granted(ada, 0)],
      [TASK + suffix, accepted(1)],
    ]);
    expect(checkLog([...children, ...onTask(granted(bob, 2), accepted(3))])).toEqual([]);
  });
  const approvedPayload = {
    decision: 'APPROVED',
    iteration: 1,
    candidate_sha256: 'aa11',
    reviewer: 'hana',
  } as const;

  it('may contain events of later versions, records, and events without a subject', () => {
    const unknownEvent: PastEventBuilder = (head) => ({ ...held(1)(head), event_type: 'TASK_PAINTED' });
    const plan: PastEventBuilder = (head) => ({
      ...held(1)(head),
      event_type: 'PLAN_CHANGED',
      payload: { record: { a: 1 } },
    });
    expect(
      checkLog([
        [TASK, unknownEvent],
        ['~plan', plan],
      ]),
    ).toEqual([]);
  });
});

describe('a forged log', () => {
  const superseded = pastEvent('lost', 2, { cause: 'SUPERSEDED', disposition: 'eligible' });
  const subtaskEvents = (builders: PastEventBuilder[]): LoggedEvent[] =>
    builders.map((buildEvent) => [`${TASK}::1`, buildEvent]);
  const cases: [invariant: string, what: string, log: LoggedEvent[]][] = [
    [
      'INV-01',
      'a generation that falls',
      [
        ...onTask(granted(ada, 0), released(1), granted(bob, 2), released(3)),
        [TASK, granted(ada, 4), { generation: 1 }],
      ],
    ],
    ['INV-02', 'a generation that is skipped', [[TASK, granted(ada, 0), { generation: 2 }]]],
    [
      'INV-02',
      'a generation granted twice',
      [...onTask(granted(ada, 0), released(1)), [TASK, granted(bob, 2), { generation: 1 }]],
    ],
    ['INV-03', 'two holders at once', onTask(granted(ada, 0), granted(bob, 1))],
    [
      'INV-04',
      'a lease taken a moment early',
      onTask(granted(ada, 0), expired(299.999), granted(bob, 299.999)),
    ],
    ['INV-04', 'a claim superseded without an operator', onTask(granted(ada, 0), superseded)],
    [
      'INV-05',
      'an effect of an old generation',
      [...onTask(granted(ada, 0), released(1), granted(bob, 2)), [TASK, accepted(3), { generation: 1 }]],
    ],
    [
      'INV-05',
      'an effect from another session',
      [...onTask(granted(ada, 0)), [TASK, released(1), { session_id: 's-2' }]],
    ],
    [
      'INV-05',
      'an effect of another agent of the session',
      [...onTask(granted(ada, 0)), [TASK, released(1), { agent_id: 'eve' }]],
    ],
    [
      'INV-05',
      'a released claim that is renewed',
      onTask(
        granted(ada, 0),
        released(1),
        pastEvent('renewed', 2, { lease_duration_seconds: 30, expires_at: isoAt(32) }),
      ),
    ],
    ['INV-05', 'a result without a claim', onTask(accepted(1))],
    [
      'INV-05',
      'an operator command for another generation',
      [...onTask(granted(ada, 0)), [TASK, held(1), { generation: 0 }]],
    ],
    [
      'INV-05',
      'a note by a former holder',
      [
        ...onTask(granted(ada, 0), released(1), granted(bob, 2)),
        [
          TASK,
          withoutSeq(pastEvent('noted', 3, { text: 'hm' })),
          { generation: 1, session_id: 's-1', agent_id: 'ada' },
        ],
      ],
    ],
    ['INV-06', 'a second result in one epoch', onTask(granted(ada, 0), accepted(1), accepted(2))],
    ['INV-09', 'a missing seq', [...onTask(granted(ada, 0)), [TASK, released(1), { seq: 3 }]]],
    ['INV-09', 'a repeated seq', [...onTask(granted(ada, 0)), [TASK, released(1), { seq: 1 }]]],
    ['INV-09', 'a time that goes backwards', onTask(granted(ada, 10), released(9))],
    ['INV-09', 'an event that changes a head but has no seq', [[TASK, withoutSeq(granted(ada, 0))]]],
    ['INV-16', 'a claim after completion', onTask(granted(ada, 0), accepted(1), granted(bob, 2))],
    [
      'INV-17',
      'a work product of another digest',
      onTask(
        granted(ada, 0),
        pastEvent('accepted', 1, {
          outcome: 'ACCEPTED',
          late: false,
          ...resultPayload('aa11', 1, TASK),
          result_sha256: 'bb22',
        }),
      ),
    ],
    [
      'INV-17',
      'a work product of another generation',
      onTask(
        granted(ada, 0),
        pastEvent('accepted', 1, { outcome: 'ACCEPTED', late: false, ...resultPayload('aa11', 2, TASK) }),
      ),
    ],
    [
      'INV-17',
      'an adoption of a result that was never parked',
      onTask(granted(ada, 0), released(1), granted(bob, 2), adoptedOf('bb22')),
    ],
    ['INV-17', 'an adoption of an imported event that is not there', importAdoption(1)],
    [
      'INV-17',
      'an adoption of the imported convergence of another edge',
      [importedConvergence('edge_converged', 'code→tests'), ...importAdoption(1)],
    ],
    [
      'INV-17',
      'an adoption of an imported event that reports no convergence',
      [importedConvergence('edge_started', 'design→code'), ...importAdoption(1)],
    ],
    [
      'INV-18',
      'an escalated result that nobody approved',
      onTask(granted(ada, 0), escalated(1), accepted(2)),
    ],
    [
      'INV-18',
      'an approval of another candidate',
      onTask(granted(ada, 0), escalated(1), approved, accepted(4, 'bb22')),
    ],
    ['INV-18', 'a review without an open gate', onTask(granted(ada, 0), suspended(1), approved)],
    [
      'INV-18',
      'a review of another iteration',
      onTask(granted(ada, 0), suspended(1, { iteration: 2, candidate_sha256: 'aa11' }), approved),
    ],
    [
      'INV-19',
      'a merge while a subtask is open',
      [...subtaskEvents([granted(ada, 0)]), ...onTask(granted(bob, 2), accepted(3))],
    ],
    [
      'INV-19',
      'a merge of a subtask that was redone',
      [
        ...subtaskEvents([granted(ada, 0), accepted(1)]),
        ...onTask(granted(bob, 2)),
        ...subtaskEvents([reset(3), granted(ada, 4), accepted(5, 'bb22')]),
        ...onTask(accepted(6)),
      ],
    ],
    ['INV-21', 'a gap in the positions', [[TASK, granted(ada, 0), { position: 2 }]]],
  ];
  it.each(cases)('violates %s: %s', (invariant, _, events) => {
    expect(brokenInvariants(checkLog(events))).toContain(invariant);
  });

  it('is reported at the position of the event, with its subject', () => {
    expect(checkLog(onTask(granted(ada, 0), granted(bob, 1)))).toEqual([
      {
        invariant: 'INV-03',
        position: 2,
        subject: TASK,
        message: 'granted to bob while ada still held the claim',
      },
    ]);
  });
  it('is reported once: a gap does not make every later event a violation', () => {
    const events: LoggedEvent[] = [...onTask(granted(ada, 0)), [TASK, released(1), { seq: 5, position: 7 }]];
    const after: LoggedEvent = [TASK, granted(bob, 2), { seq: 6, position: 8 }];
    expect(brokenInvariants(checkLog([...events, after]))).toEqual(['INV-21', 'INV-09']);
    expect(checkLog([...events, after])).toHaveLength(2);
  });
  it('is checked by the policy of its subject: under hold no lease expires', () => {
    const events: LoggedEvent[] = [
      [EDGE, granted(ada, 0)],
      [EDGE, expired(9999)],
    ];
    expect(brokenInvariants(checkLog(events, EDGE_RULES))).toEqual(['INV-04']);
    expect(checkLog(events, TASK_RULES)).toEqual([]);
  });
  it('expects the generation after a loss of history above the floor', () => {
    const rules = { ...TASK_RULES, generation_floor: 50 };
    const events: LoggedEvent[] = [[TASK, granted(ada, 0), { generation: 51 }]];
    expect(checkLog(events, rules)).toEqual([]);
    expect(brokenInvariants(checkLog(onTask(granted(ada, 0)), rules))).toEqual(['INV-02']);
  });
  it('is checked with the margin for clock skew', () => {
    const events = onTask(granted(ada, 0), expired(301));
    expect(brokenInvariants(checkLog(events, { ...TASK_RULES, skew_margin_ms: 2000 }))).toEqual(['INV-04']);
  });
});

describe('INV-08: the heads of a store', () => {
  const events: LoggedEvent[] = [...onTask(granted(ada, 0)), [EDGE, granted(bob, 1)]];
  const checkHeadsOf = (heads: (all: Map<string, AnyHead>) => AnyHead[]): InvariantViolation[] => {
    const log = logOf(events);
    const checker = new LogChecker(() => TASK_RULES);
    for (const event of log.events) checker.checkEvent(event);
    return checker.checkHeads(heads(log.heads));
  };
  it('are valid if they are the folds of their events, in any field order', () => {
    const shuffledFields = (head: AnyHead) =>
      Object.fromEntries(Object.entries(head).reverse()) as unknown as AnyHead;
    expect(checkHeadsOf((all) => [...all.values()].map(shuffledFields))).toEqual([]);
  });
  it('are a violation if one differs, is missing, or has no events', () => {
    const [taskHead, edgeHead] = [TASK, EDGE].map(
      (subject) => (all: Map<string, AnyHead>) => all.get(subject) as Head,
    );
    const invariantsAndSubjects = (violations: InvariantViolation[]) =>
      violations.map(({ invariant, subject }) => [invariant, subject]);
    expect(
      invariantsAndSubjects(checkHeadsOf((all) => [{ ...taskHead!(all), failures: 1 }, edgeHead!(all)])),
    ).toEqual([['INV-08', TASK]]);
    expect(invariantsAndSubjects(checkHeadsOf((all) => [taskHead!(all)]))).toEqual([['INV-08', EDGE]]);
    expect(invariantsAndSubjects(checkHeadsOf((all) => [...all.values(), emptyHead('B-001-ghost')]))).toEqual(
      [['INV-08', 'B-001-ghost']],
    );
  });
});
