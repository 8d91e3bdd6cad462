import { evidenceKind, isSessionOpening, type ResultEvent } from './result-event.js';

/** What an event is for the result, most important first: if there are too many, the first roles are kept. */
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

/** The result of a task among its events, and what the role of another event depends on. */
export interface ResultContext {
  readonly taskId: string;
  readonly result: ResultEvent;
  /** The generation whose holder produced the result: an adoption has a generation of its own. */
  readonly producingGeneration: number;
  /** Inputs that the producing grant names, as `task@generation`; null if it has only a digest of them. */
  readonly inputs: ReadonlySet<string> | null;
  readonly sessionIds: ReadonlySet<string>;
}

const isResult = (event: ResultEvent): boolean => ['accepted', 'adopted'].includes(evidenceKind(event) ?? '');

/** Null if the events contain no accepted result of the task. Events are in order of position. */
export function resultContext(taskId: string, events: readonly ResultEvent[]): ResultContext | null {
  const own = events.filter(({ subject }) => subject === taskId);
  const result = own.findLast(isResult);
  if (result === undefined) return null;
  const producingGeneration = result.payload?.adopted_from?.generation ?? result.generation ?? 0;
  const grant = own.find(
    (event) => evidenceKind(event) === 'granted' && event.generation === producingGeneration,
  );
  const sessions = own.flatMap(({ session_id }) => session_id ?? []);
  return {
    taskId,
    result,
    producingGeneration,
    inputs: namedInputs(grant?.payload?.inputs ?? ''),
    sessionIds: new Set(sessions),
  };
}

/** `A-001-a@2.0,A-002-b@1.1`: each input with its generation and how often it was reopened. Long lists are a digest. */
function namedInputs(inputs: string): ReadonlySet<string> | null {
  if (inputs === '') return new Set();
  const names = inputs.split(',').map((each) => /^(.+@\d+)\.\d+$/.exec(each)?.[1]);
  return names.includes(undefined) ? null : new Set(names as string[]);
}

export const inputName = ({ subject, generation }: ResultEvent): string => `${subject}@${generation}`;

/** Null if the event is no evidence of this result. */
export function roleOf(event: ResultEvent, context: ResultContext): ResultRole | null {
  if (event.subject === context.taskId) return ownRole(event, context);
  if (isSessionOpening(event)) return context.sessionIds.has(event.session_id ?? '') ? 'session' : null;
  return isResult(event) && context.inputs?.has(inputName(event)) === true ? 'input' : null;
}

function ownRole(event: ResultEvent, context: ResultContext): ResultRole | null {
  const { result } = context;
  const kind = evidenceKind(event);
  if (kind === 'result_denied') return refusedRole(event, context);
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

function refusedRole({ payload }: ResultEvent, { result }: ResultContext): ResultRole {
  const adopted = result.payload?.adopted_from?.result_id;
  return adopted !== undefined && payload?.result_id === adopted ? 'parked_result' : 'refused_result';
}

/** The events that belong to a proof of the result, at most as many as it may have, in order of position. */
export function selectEvidence(taskId: string, events: readonly ResultEvent[]): ResultEvent[] {
  const kept = withRoles(taskId, events)
    .map(({ event, role }) => ({ event, rank: RESULT_ROLES.indexOf(role) }))
    .sort((one, other) => one.rank - other.rank || other.event.position - one.event.position)
    .slice(0, EVENTS_PER_PROOF_MAX)
    .map(({ event }) => event)
    .sort((one, other) => one.position - other.position);
  // A session belongs to a proof because of its acts, and they may have been left out just now.
  return withRoles(taskId, kept).map(({ event }) => event);
}

/** The events that have a role, with it; none if there is no accepted result. */
export function withRoles(
  taskId: string,
  events: readonly ResultEvent[],
): { readonly event: ResultEvent; readonly role: ResultRole }[] {
  const context = resultContext(taskId, events);
  if (context === null) return [];
  return events.flatMap((event) => {
    const role = roleOf(event, context);
    return role === null ? [] : { event, role };
  });
}
