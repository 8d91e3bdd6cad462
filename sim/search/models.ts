import type {
  ClaimFacts,
  ClaimHandle,
  DecisionContext,
  SubjectCommand,
} from '../../src/core/claims/commands.js';
import type { Head, SubmittedResult } from '../../src/core/claims/head.js';
import { DEFAULT_LIMITS, DEFAULT_POLICY, type Rules } from '../../src/core/claims/policy.js';

/** Length of a time step; every lease, deadline and backoff in the models is a small multiple of it. */
export const TICK_MS = 5_000;
const LEASE_SECONDS = 10;

/** A small model to be searched exhaustively: subjects, rules, and every command that may be tried. */
export interface SearchModel {
  readonly name: string;
  readonly rules: Rules;
  readonly subjects: readonly string[];
  /** The commands to try on the subject at `index` in this state, including invalid ones. */
  commands(heads: readonly Head[], index: number): SubjectCommand[];
  /** Checks conditions across subjects. Null if they hold. */
  violationIn(before: readonly Head[], index: number, after: Head): string | null;
}

const RULES: Rules = {
  ...DEFAULT_POLICY,
  ...DEFAULT_LIMITS,
  stale_policy: 'takeover',
  late_submit: 'accept',
  max_hold_seconds: null,
  stale_threshold_seconds: LEASE_SECONDS,
  suspend_max_seconds: LEASE_SECONDS,
  max_attempts: 2,
  min_lease_duration_seconds: 5,
  max_lease_duration_seconds: LEASE_SECONDS,
  max_generations_per_task: 4,
  max_result_size_bytes: 100,
  skew_margin_ms: 0,
  generation_floor: 0,
};

const POLICIES: Readonly<Record<string, Rules>> = {
  takeover: RULES,
  'takeover with max_hold': { ...RULES, max_hold_seconds: 15 },
  'strict with a skew margin': { ...RULES, late_submit: 'reject', skew_margin_ms: TICK_MS },
  hold: { ...RULES, stale_policy: 'hold' },
  'hold with max_hold': { ...RULES, stale_policy: 'hold', max_hold_seconds: 15 },
};

/** Ada and Eve share a session. Zoe claims without a lease. */
const WORKERS = [
  { agent_id: 'ada', session_id: 's-1', lease_seconds: LEASE_SECONDS },
  { agent_id: 'eve', session_id: 's-1', lease_seconds: LEASE_SECONDS },
  { agent_id: 'cyd', session_id: 's-2', lease_seconds: LEASE_SECONDS },
  { agent_id: 'zoe', session_id: 's-3', lease_seconds: null },
] as const;
type SearchWorker = (typeof WORKERS)[number];
const CLAIMANTS = WORKERS.filter(({ agent_id }) => agent_id !== 'eve');

export const claimIdOf: DecisionContext['claimIdOf'] = ({ generation, request_id }) =>
  `${generation}/${request_id}`;

const READY_FACTS: ClaimFacts = {
  is_known_subject: true,
  is_session_closed: false,
  waiting_for: [],
  inputs: null,
  reached_limit: null,
};

function claimFields(worker: SearchWorker, facts: ClaimFacts) {
  const { agent_id, session_id, lease_seconds } = worker;
  const identity = { agent_id, session_id, agent_role: null, user_id: null };
  return { ...identity, lease_seconds, request_id: agent_id, metadata: null, facts };
}

function handlesOf(generations: readonly number[], workers: readonly SearchWorker[]): ClaimHandle[] {
  return generations.flatMap((generation) =>
    workers.map(({ agent_id, session_id }) => {
      return { generation, session_id, claim_id: claimIdOf({ generation, request_id: agent_id }) };
    }),
  );
}

const resultOf = (sha256: string, size_bytes = 1): SubmittedResult => {
  return { result_id: `r-${sha256}`, sha256, size_bytes, work_product_ref: `wp-${sha256}` };
};
const SHAS = ['aa', 'bb'] as const;

const SUBMIT_FACTS = {
  past_grant: null,
  iteration: 1,
  is_parking_full: false,
  is_permit_limit_reached: false,
} as const;

const submitOf = (
  handle: ClaimHandle,
  sha256: string,
  inputs: string | null = null,
  authority: 'granted' | 'escalate' = 'granted',
): SubjectCommand => ({
  type: 'submit',
  handle,
  result: resultOf(sha256),
  facts: { ...SUBMIT_FACTS, inputs, authority },
  sender: 'open',
});

/**
 * Every worker's handle of the current generation, valid or not; Ada's of the generation before, as a zombie has it; Cyd's
 * of a generation that was never granted; and handles without a claim id.
 */
function everyHandle({ generation, claim }: Head): ClaimHandle[] {
  return [
    ...handlesOf([generation], WORKERS),
    ...handlesOf([generation - 1], [WORKERS[0]]),
    ...handlesOf([generation + 1], [WORKERS[2]]),
    ...[generation - 1, generation, generation + 1].map((shownGeneration) => {
      return { generation: shownGeneration, session_id: claim?.session_id ?? 's-1', claim_id: null };
    }),
    { generation, session_id: 's-0', claim_id: null },
  ];
}

const holderCommands = (handle: ClaimHandle): SubjectCommand[] => [
  { type: 'renew', handle, lease_seconds: null },
  { type: 'release', handle, reason: 'VOLUNTARY', message: null },
  { type: 'release', handle, reason: 'ERROR', message: 'broken' },
  { type: 'release', handle, reason: 'SESSION_CLOSED', message: null },
  ...SHAS.map((sha256) => submitOf(handle, sha256)),
  submitOf(handle, 'aa', 'other inputs'),
  {
    type: 'submit',
    handle,
    sender: 'open',
    result: resultOf('aa', 101),
    facts: { ...SUBMIT_FACTS, inputs: null, authority: 'granted' },
  },
];

const gatedHolderCommands = (handle: ClaimHandle): SubjectCommand[] => [
  { type: 'renew', handle, lease_seconds: null },
  { type: 'release', handle, reason: 'VOLUNTARY', message: null },
  { type: 'suspend', handle, gate: null },
  { type: 'suspend', handle, gate: { iteration: 1, candidate_sha256: 'aa' } },
  { type: 'resume', handle },
  ...SHAS.flatMap((sha256) => [submitOf(handle, sha256), submitOf(handle, sha256, null, 'escalate')]),
];

function reviewCommands(generation: number): SubjectCommand[] {
  return SHAS.flatMap((candidate_sha256) =>
    (['APPROVED', 'REJECTED', 'CHANGES_REQUESTED'] as const).map((decision): SubjectCommand => {
      const candidate = { generation, iteration: 1, candidate_sha256 };
      return { type: 'record_review', ...candidate, decision, reviewer: 'hana', comment: null, inputs: null };
    }),
  );
}

const operatorFields = (expected_generation: number) => ({
  expected_generation,
  reason: 'because',
  by: 'hana',
});

function operatorCommands(head: Head, expectedGeneration: number, generationsMax: number): SubjectCommand[] {
  const operator = operatorFields(expectedGeneration);
  const result = resultOf('bb');
  const author = { generation: head.generation, agent_id: 'cyd', session_id: 's-2' };
  const adoption = { ...operator, session_id: 's-0', request_id: 'hana' };
  const commands: SubjectCommand[] = [
    { type: 'force_release', ...operator },
    { type: 'reassign', ...operator, to: claimFields(WORKERS[2], READY_FACTS) },
    { type: 'hold', ...operator },
    { type: 'unhold', ...operator },
    { type: 'adopt', ...adoption, adopted: null },
  ];
  // A person may adopt beyond the limit of generations; the search must stay finite.
  if (head.generation < generationsMax) {
    commands.push({
      type: 'adopt',
      ...adoption,
      adopted: { from: { ...author, result_id: result.result_id }, result },
    });
  }
  // One reset is enough to cover the end of an epoch.
  if (head.epoch === 0) commands.push({ type: 'reset', ...operator });
  return commands;
}

const REFUSED_CLAIMS: readonly SubjectCommand[] = (
  [
    { is_known_subject: false },
    { is_session_closed: true },
    { waiting_for: ['x'] },
    { reached_limit: 'max_concurrent_claims' },
  ] as const
).map((facts) => ({ type: 'claim', ...claimFields(WORKERS[0], { ...READY_FACTS, ...facts }) }));

const CLAIMS: readonly SubjectCommand[] = CLAIMANTS.map((worker) => ({
  type: 'claim',
  ...claimFields(worker, READY_FACTS),
}));

/** A claim that can be refused only because of the state of the subject. */
export const PLAIN_CLAIM: SubjectCommand = { type: 'claim', ...claimFields(WORKERS[0], READY_FACTS) };

/** One subject through its generations: everything except suspension and review gates, by every worker, with every handle. */
const claimsModel = (policy: string, rules: Rules): SearchModel => ({
  name: `claims, ${policy}`,
  rules,
  subjects: ['A-001-lone'],
  commands(heads) {
    const head = heads[0] as Head;
    return [
      { type: 'expire' },
      ...CLAIMS,
      ...REFUSED_CLAIMS,
      ...everyHandle(head).flatMap(holderCommands),
      ...operatorCommands(head, head.generation, rules.max_generations_per_task),
      ...operatorCommands(head, head.generation - 1, rules.max_generations_per_task),
    ];
  },
  violationIn: () => null,
});

/** One subject with review gates, over two generations. */
const gatesModel = (policy: string, rules: Rules): SearchModel => ({
  name: `gates, ${policy}`,
  rules: { ...rules, max_generations_per_task: 2 },
  subjects: ['REQ-F-ONE-001#design_code'],
  commands(heads) {
    const head = heads[0] as Head;
    return [
      { type: 'expire' },
      ...CLAIMS.slice(0, 2),
      ...everyHandle(head).flatMap(gatedHolderCommands),
      ...reviewCommands(head.generation),
      ...reviewCommands(head.generation - 1),
      { type: 'force_release', ...operatorFields(head.generation) },
      { type: 'unhold', ...operatorFields(head.generation) },
    ];
  },
  violationIn: () => null,
});

const inputsOf = (head: Head): string | null =>
  head.result === null ? null : `${head.result.generation} ${head.result.sha256}`;

/** Two subjects, the second depending on the first. */
const pairModel = (policy: string, rules: Rules): SearchModel => ({
  name: `pair, ${policy}`,
  rules: { ...rules, max_generations_per_task: 2 },
  subjects: ['A-001-first', 'A-002-second'],
  commands(heads, index) {
    const [first] = heads as [Head, Head];
    const head = heads[index] as Head;
    const inputs = index === 0 ? null : inputsOf(first);
    const waiting_for = index === 1 && first.phase === 'OPEN' ? [first.subject] : [];
    const facts = { ...READY_FACTS, waiting_for, inputs };
    const currentHandles = handlesOf([head.generation], [WORKERS[0], WORKERS[2]]);
    const zombieHandles = handlesOf([head.generation - 1], [WORKERS[0]]);
    const resets: SubjectCommand[] =
      index === 0 && head.epoch === 0 ? [{ type: 'reset', ...operatorFields(head.generation) }] : [];
    return [
      { type: 'claim', ...claimFields(WORKERS[0], facts) },
      { type: 'reassign', ...operatorFields(head.generation), to: claimFields(WORKERS[2], facts) },
      ...resets,
      ...[...currentHandles, ...zombieHandles].flatMap((handle) => [
        submitOf(handle, 'aa', inputs),
        submitOf(handle, 'bb', inputs),
      ]),
    ];
  },
  violationIn(before, index, after) {
    if (index === 0) return null;
    const [first, second] = before as [Head, Head];
    if (after.generation > second.generation && first.phase === 'OPEN') {
      return 'granted before its dependency was complete';
    }
    const isAccepted = after.phase === 'COMPLETED' && second.phase === 'OPEN';
    const isCurrent = first.phase === 'COMPLETED' && second.claim?.inputs === inputsOf(first);
    return isAccepted && !isCurrent ? 'accepted with other inputs than it was granted with' : null;
  },
});

export const allModels = (): SearchModel[] =>
  Object.entries(POLICIES).flatMap(([policy, rules]) => [
    claimsModel(policy, rules),
    gatesModel(policy, rules),
    pairModel(policy, rules),
  ]);
