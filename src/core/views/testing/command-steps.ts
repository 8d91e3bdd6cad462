import type { ClaimHandle, PastGrant, SubjectCommand } from '../../claims/commands.js';
import { type Head, REVIEW_DECISIONS, type SubmittedResult } from '../../claims/head.js';
import type { TaskResult } from '../../contract/tasks.js';

export const TASKS = [
  { id: 'A-001-core', description: 'the core' },
  { id: 'A-002-shell', description: 'the shell', subtasks: 2 },
  { id: 'B-001-schema', description: 'the schema', depends_on: ['A-001-core'] },
];
export const SUBJECTS = [
  'A-001-core',
  'A-002-shell::1',
  'A-002-shell::2',
  'A-002-shell',
  'B-001-schema',
  'REQ-F-AUTH-001#design_code',
] as const;

export const WORKERS = [
  { agent_id: 'ada', session_id: 's-1', agent_role: 'full_stack' },
  { agent_id: 'eve', session_id: 's-1', agent_role: null },
  { agent_id: 'bob', session_id: 's-2', agent_role: null },
] as const;
type HistoryAgent = (typeof WORKERS)[number];

export const VERBS = [
  'claim',
  'renew',
  'release',
  'submit',
  'suspend',
  'resume',
  'record_review',
  'force_release',
  'reassign',
  'reset',
  'hold',
  'unhold',
  'adopt',
  'expire',
] as const;

/** The history that the next command depends on. */
interface HistorySoFar {
  head(subject: string): Head;
  waitingFor(subject: string): string[];
  grantOf(subject: string, generation: number): PastGrant | null;
  parkedOf(subject: string): TaskResult[];
}

/** One attempted command. `choice` selects a variant of it. */
export interface CommandStep {
  readonly subject: string;
  readonly verb: (typeof VERBS)[number];
  readonly worker: HistoryAgent;
  readonly seconds: number;
  readonly choice: number;
}

export function claimBy(worker: HistoryAgent, waiting_for: readonly string[] = []): SubjectCommand<'claim'> {
  return {
    type: 'claim',
    ...worker,
    user_id: `user-of-${worker.session_id}`,
    lease_seconds: 60,
    request_id: null,
    metadata: null,
    facts: {
      is_known_subject: true,
      is_session_closed: false,
      waiting_for,
      inputs: null,
      reached_limit: null,
    },
  };
}

function testResult(subject: string, generation: number, text: string): SubmittedResult {
  const digest = Buffer.from(`${subject} ${generation} ${text}`).toString('hex').slice(0, 64).padEnd(64, '0');
  return {
    result_id: `result-${generation}-${text}-${subject}`,
    sha256: digest,
    size_bytes: text.length,
    work_product_ref: `wp-${subject}-gen${generation}-${digest.slice(0, 12)}`,
    data: { text },
  };
}

export function submitBy(
  history: HistorySoFar,
  subject: string,
  handle: ClaimHandle,
  fields: { text?: string; authority?: 'granted' | 'escalate' } = {},
): SubjectCommand<'submit'> {
  return {
    type: 'submit',
    handle,
    result: testResult(subject, handle.generation, fields.text ?? 'done'),
    facts: {
      inputs: null,
      past_grant: history.grantOf(subject, handle.generation),
      authority: fields.authority ?? 'granted',
      iteration: 1,
      is_parking_full: false,
      is_permit_limit_reached: false,
    },
    sender: 'open',
  };
}

/** The holder's handle of the current generation; occasionally of the previous one, or with another agent's session. */
function handleOf(history: HistorySoFar, { subject, worker, choice }: CommandStep): ClaimHandle {
  const generation = Math.max(0, history.head(subject).generation - (choice % 4 === 0 ? 1 : 0));
  const grant = history.grantOf(subject, generation);
  const session_id = choice % 7 === 0 ? worker.session_id : (grant?.session_id ?? worker.session_id);
  return { generation, session_id, claim_id: null };
}

const operatorFieldsFor = (head: Head, choice: number) => ({
  expected_generation: head.generation,
  reason: `because ${choice % 3}`,
  by: 'olga@acme.com',
});

export function commandOf(step: CommandStep, history: HistorySoFar): SubjectCommand {
  const { subject, verb, worker, choice } = step;
  const head = history.head(subject);
  const handle = handleOf(history, step);
  const operatorFields = operatorFieldsFor(head, choice);
  switch (verb) {
    case 'claim':
      return claimBy(worker, history.waitingFor(subject));
    case 'renew':
      return { type: verb, handle, lease_seconds: choice % 2 === 0 ? null : 90 };
    case 'release': {
      const reason = (['VOLUNTARY', 'ERROR', 'SESSION_CLOSED'] as const)[choice % 3] ?? 'VOLUNTARY';
      return { type: verb, handle, reason, message: reason === 'ERROR' ? 'it broke' : null };
    }
    case 'submit': {
      const authority = choice % 3 === 0 ? 'escalate' : 'granted';
      return submitBy(history, subject, handle, { text: `v${choice % 2}`, authority });
    }
    case 'suspend': {
      const candidate_sha256 = testResult(subject, head.generation, 'v0').sha256;
      return { type: verb, handle, gate: choice % 2 === 0 ? null : { iteration: 1, candidate_sha256 } };
    }
    case 'resume':
      return { type: verb, handle };
    case 'record_review':
      return {
        type: verb,
        generation: head.generation,
        iteration: 1,
        candidate_sha256: head.gate?.candidate_sha256 ?? '',
        decision: REVIEW_DECISIONS[choice % 3] ?? 'APPROVED',
        reviewer: 'olga@acme.com',
        comment: choice % 2 === 0 ? null : 'seen',
        inputs: head.claim?.inputs ?? null,
      };
    case 'reassign': {
      const { type: _, ...to } = claimBy(worker, history.waitingFor(subject));
      return { type: verb, ...operatorFields, to };
    }
    case 'adopt':
      return adoptCommandOf(step, history);
    case 'expire':
      return { type: verb };
    default:
      return { type: verb, ...operatorFields };
  }
}

function adoptCommandOf({ subject, choice }: CommandStep, history: HistorySoFar): SubjectCommand {
  const parked = history.parkedOf(subject)[0];
  const grant = parked === undefined ? null : history.grantOf(subject, parked.generation);
  const text = String((parked?.result_data as { text?: string } | undefined)?.text);
  const result = testResult(subject, parked?.generation ?? 0, text);
  const adopted = grant === null ? null : { from: originOf(grant, result), result };
  const operatorFields = operatorFieldsFor(history.head(subject), choice);
  return { type: 'adopt', ...operatorFields, session_id: 's-op', request_id: null, adopted };
}

const originOf = ({ generation, agent_id, session_id }: PastGrant, { result_id }: SubmittedResult) => ({
  result_id,
  generation,
  agent_id,
  session_id,
});
