import { type HashBytes, utf8 } from '../audit-values.js';
import { claimEventKindIn, isSessionOpening, type ProofEvent } from './proof-event.js';

/**
 * The roles that an event can have for the result, most important first: if there are too many events, those with the first
 * roles are kept.
 */
export const RESULT_ROLES = [
  'result',
  'grant',
  'parked_result',
  'grant_of_parked_result',
  'review',
  'candidate',
  'session',
  'input',
  'warning',
  'refused_result',
  'earlier_grant',
  'claim_end',
  'earlier_result',
  'reopening',
] as const;
export type ResultRole = (typeof RESULT_ROLES)[number];

export const EVENTS_PER_PROOF_MAX = 200;
/** The length of the digest of the inputs in a grant, in hex digits. */
const DIGEST_LENGTH = 32;

/** What the proof of a task's result is selected from. The events are in order of position. */
export interface TaskProofSource {
  readonly task_id: string;
  readonly events: readonly ProofEvent[];
  readonly hash: HashBytes;
}

/** The result of a task among its events, and what the role of another event depends on. */
export interface ResultContext {
  readonly taskId: string;
  readonly result: ProofEvent;
  /** The generation whose holder produced the result. The adoption of a parked result has a later generation of its own. */
  readonly producingGeneration: number;
  /**
   * Inputs that the producing grant names, as `task@generation`; null if the grant has a digest that the events do not
   * match.
   */
  readonly inputs: ReadonlySet<string> | null;
  readonly sessionIds: ReadonlySet<string>;
}

const isResult = (event: ProofEvent): boolean =>
  ['accepted', 'adopted'].includes(claimEventKindIn(event) ?? '');

/** Null if the events contain no accepted result of the task. */
export function resultContext(source: TaskProofSource): ResultContext | null {
  const { task_id: taskId, events } = source;
  const taskEvents = events.filter(({ subject }) => subject === taskId);
  const result = taskEvents.findLast(isResult);
  if (result === undefined) return null;
  const adoptedFrom = result.payload?.adopted_from;
  const parkedGeneration = adoptedFrom?.imported === true ? undefined : adoptedFrom?.generation;
  const producingGeneration = parkedGeneration ?? result.generation ?? 0;
  const grant = taskEvents.find(
    (event) => claimEventKindIn(event) === 'granted' && event.generation === producingGeneration,
  );
  const sessions = taskEvents.flatMap(({ session_id }) => session_id ?? []);
  return {
    taskId,
    result,
    producingGeneration,
    inputs: grant === undefined ? new Set() : inputsOfGrant(grant, source),
    sessionIds: new Set(sessions),
  };
}

/**
 * The inputs that a grant names, as `task@generation`. The event stores `id@generation.reopenings,…`, or a digest if the
 * list is long.
 */
function inputsOfGrant(grant: ProofEvent, source: TaskProofSource): ReadonlySet<string> | null {
  const inputs = grant.payload?.inputs ?? '';
  if (inputs === '') return new Set();
  const names = inputs.split(',').map((each) => /^(.+@\d+)\.\d+$/.exec(each)?.[1]);
  return names.includes(undefined) ? inputsOfDigest(inputs, grant, source) : new Set(names as string[]);
}

/**
 * The last results of other tasks before the grant; null if the digest does not match them, for example because one was
 * reopened.
 */
function inputsOfDigest(
  digest: string,
  grant: ProofEvent,
  { task_id, events, hash }: TaskProofSource,
): ReadonlySet<string> | null {
  const results = events.filter(
    (event) => event.subject !== task_id && isResult(event) && event.position < grant.position,
  );
  const nameOfTask = new Map(results.map((event) => [event.subject ?? '', inputName(event)]));
  const names = [...nameOfTask.keys()].sort().map((task) => nameOfTask.get(task) ?? '');
  const text = names.map((name) => `${name}.0`).join(',');
  const isMatch = Buffer.from(hash(utf8(text)))
    .toString('hex')
    .startsWith(digest);
  return isMatch && digest.length === DIGEST_LENGTH ? new Set(names) : null;
}

export const inputName = ({ subject, generation }: ProofEvent): string => `${subject}@${generation}`;

/** Null if the event does not belong to the proof of this result. */
function roleOf(event: ProofEvent, context: ResultContext): ResultRole | null {
  if (event.subject === context.taskId) return roleOfTaskEvent(event, context);
  if (isSessionOpening(event)) return context.sessionIds.has(event.session_id ?? '') ? 'session' : null;
  return isResult(event) && context.inputs?.has(inputName(event)) === true ? 'input' : null;
}

function roleOfTaskEvent(event: ProofEvent, context: ResultContext): ResultRole | null {
  const { result } = context;
  const kind = claimEventKindIn(event);
  if (kind === 'result_refused') return refusedRole(event, context);
  if (kind === 'warned') return 'warning';
  if (event.position > result.position) return null;
  switch (kind) {
    case 'accepted':
    case 'adopted':
      return event === result ? 'result' : 'earlier_result';
    case 'granted':
      if (event.generation === result.generation) return 'grant';
      return event.generation === context.producingGeneration ? 'grant_of_parked_result' : 'earlier_grant';
    case 'lost':
    case 'released':
      return 'claim_end';
    case 'escalated':
      return 'candidate';
    case 'reviewed':
      return 'review';
    case 'reset':
      return 'reopening';
    default:
      return null;
  }
}

function refusedRole({ payload }: ProofEvent, { result }: ResultContext): ResultRole {
  const adoptedFrom = result.payload?.adopted_from;
  if (adoptedFrom === undefined || adoptedFrom.imported === true) return 'refused_result';
  return payload?.result_id === adoptedFrom.result_id ? 'parked_result' : 'refused_result';
}

/** The events that belong to a proof of the result, at most EVENTS_PER_PROOF_MAX, in order of position. */
export function selectProofEvents(source: TaskProofSource): ProofEvent[] {
  const selectedEvents = withRoles(source)
    .map(({ event, role }) => ({ event, rank: RESULT_ROLES.indexOf(role) }))
    .sort((one, other) => one.rank - other.rank || other.event.position - one.event.position)
    .slice(0, EVENTS_PER_PROOF_MAX)
    .map(({ event }) => event)
    .sort((one, other) => one.position - other.position);
  // The roles are computed again: a session belongs to a proof because of its commands, which the limit may have removed.
  return withRoles({ ...source, events: selectedEvents }).map(({ event }) => event);
}

/** The events that have a role, each with its role; empty if there is no accepted result. */
export function withRoles(
  source: TaskProofSource,
): { readonly event: ProofEvent; readonly role: ResultRole }[] {
  const context = resultContext(source);
  if (context === null) return [];
  return source.events.flatMap((event) => {
    const role = roleOf(event, context);
    return role === null ? [] : { event, role };
  });
}
