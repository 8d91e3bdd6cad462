import { readSignature } from '../../signing.js';
import { subjectKindOf } from '../../subject.js';
import type { Anchor } from '../checkpoint.js';
import { claimEventKindIn, type ProofEvent } from './proof-event.js';
import {
  EVENTS_PER_PROOF_MAX,
  inputName,
  type ResultContext,
  type ResultRole,
  resultContext,
  type TaskProofSource,
  withRoles,
} from './roles.js';
import { commandsOf, type SignedCommandBody, sessionKey } from './session-signatures.js';

/** The input of a summary. Only these fields may influence its text. */
interface SummarySource extends TaskProofSource {
  readonly checkpoint: Anchor;
  readonly signatures: readonly SignedCommandBody[];
}

/** A proof of a result in words: a line per event, in order, then what is missing, and the checkpoint. */
export function resultSummary(source: SummarySource): string[] {
  const { task_id, checkpoint, events } = source;
  const context = resultContext(source);
  if (context === null) return [];
  const kindName = subjectKindOf(task_id) === 'edge' ? 'Edge' : 'Task';
  return [
    `${kindName} ${task_id} of ${checkpoint.tenant_id}/${checkpoint.project_id}: how its result came about.`,
    ...withRoles(source).map(
      ({ event, role }) =>
        `${event.timestamp}, position ${event.position}: ${eventText(event, role, source)}.`,
    ),
    ...missingGrants(context, source),
    ...missingChanges(context, events),
    ...missingInputs(context, events),
    ...(events.length < EVENTS_PER_PROOF_MAX
      ? []
      : [`This file has ${events.length} events, as many as it may have: there can be more.`]),
    `All of this is in the log up to position ${checkpoint.position} that the audit key ${checkpoint.key_id} signed at ${checkpoint.time}.` +
      // Inclusion in a log can be proved, absence cannot.
      ' It is not shown that nothing followed, such as a reset.',
  ];
}

function eventText(event: ProofEvent, role: ResultRole, source: SummarySource): string {
  const text = event.payload === null ? redactedText(event, role) : TEXT_OF_ROLE[role](event, event.payload);
  if (!isActOfSession(event)) return text;
  return `${text}; ${isApproved(event, source) ? 'its submission is above' : signatureText(event, source)}`;
}

const redactedText = (event: ProofEvent, role: ResultRole): string =>
  `${event.event_type} (${role}) of ${generationOf(event)}, ${actorText(event)}; its payload is missing, as after redaction`;

type Payload = NonNullable<ProofEvent['payload']>;

const actorText = ({ agent_id, session_id = '' }: ProofEvent): string =>
  session_id === '' ? agent_id : `${agent_id} in session ${session_id}`;
const generationOf = ({ generation = 0 }: ProofEvent): string => `generation ${generation}`;
const digestText = ({ result_sha256 = 'none', result_size_bytes }: Payload): string =>
  `SHA-256 ${result_sha256}${result_size_bytes === undefined ? '' : `, ${result_size_bytes} bytes`}`;
/** Quoted, because it is a person's own words and may have line breaks. */
const reasonText = ({ reason }: Payload): string =>
  reason === undefined ? '' : ` (${JSON.stringify(reason)})`;
const byText = ({ by }: Payload): string => (by === undefined ? '' : ` by ${by}`);

const grantText = (event: ProofEvent, { expires_at }: Payload): string => {
  const until = typeof expires_at === 'string' ? ` until ${expires_at}` : '';
  const role = event.agent_role === undefined ? '' : ` as ${event.agent_role}`;
  return `${generationOf(event)} was granted to ${actorText(event)}${role}${until}`;
};

function refusalText(event: ProofEvent, payload: Payload): string {
  const { submitted_generation = 0, current_generation = 0, rejection_reason, parked } = payload;
  return (
    `${actorText(event)} submitted a result of generation ${submitted_generation} while ${current_generation} was current: ` +
    `refused with ${rejection_reason}${parked === true ? ' and parked' : ''}, ${digestText(payload)}`
  );
}

function acceptanceText(event: ProofEvent, payload: Payload): string {
  const { adopted_from: from } = payload;
  if (from === undefined) {
    const late = payload.late === true ? ', after its lease,' : '';
    return `the result of ${generationOf(event)}, submitted by ${actorText(event)}, was accepted${late} with ${digestText(payload)}`;
  }
  return `${originText(from)}, was adopted${byText(payload)}${reasonText(payload)} as ${generationOf(event)} with ${digestText(payload)}`;
}

function originText(from: NonNullable<Payload['adopted_from']>): string {
  if (from.imported !== true)
    return `the parked result of generation ${from.generation}, submitted by ${from.agent_id} in session ${from.session_id}`;
  // Quoted, because it is the name of a file.
  const source = from.source === undefined ? '' : ` of ${JSON.stringify(from.source)}`;
  return `the convergence that the imported event ${from.event_id}${source} at position ${from.position} reports`;
}

function endText(event: ProofEvent, payload: Payload): string {
  const { cause, disposition, expired_at = event.timestamp } = payload;
  if (cause === 'EXPIRED') {
    const keptText = disposition === 'held' ? ', but the claim was kept' : '';
    return `the lease of ${generationOf(event)} expired at ${expired_at}${keptText}`;
  }
  const ended = cause === 'SUPERSEDED' ? 'taken over' : 'released';
  return `${generationOf(event)} was ${ended}${byText(payload)}${reasonText(payload)}`;
}

function openingText({ session_id, agent_id }: ProofEvent, { record }: Payload): string {
  const key = record?.public_key === undefined ? 'without a key' : `with the key ${record.public_key}`;
  return `session ${session_id} was opened for ${agent_id} ${key}`;
}

const TEXT_OF_ROLE: Record<ResultRole, (event: ProofEvent, payload: Payload) => string> = {
  result: acceptanceText,
  earlier_result: (event, payload) => `earlier, ${acceptanceText(event, payload)}`,
  input: (event, payload) => `input ${event.subject}: ${acceptanceText(event, payload)}`,
  grant: grantText,
  grant_of_parked_result: grantText,
  earlier_grant: grantText,
  claim_end: endText,
  parked_result: refusalText,
  refused_result: refusalText,
  session: openingText,
  candidate: (event, payload) =>
    `${actorText(event)} submitted a result of ${generationOf(event)} for review${reasonText(payload)}, ${digestText(payload)}`,
  review: (event, { reviewer, pushed_by, decision, candidate_sha256 }) =>
    `${reviewer} decided ${decision} on the result of ${generationOf(event)} with SHA-256 ${candidate_sha256}${
      pushed_by === undefined ? '' : `, according to ${pushed_by}, who pushed the decision`
    }`,
  warning: (event, payload) => `a warning on the result of ${generationOf(event)}${reasonText(payload)}`,
  reopening: (_event, payload) => `reopened${byText(payload)}${reasonText(payload)}`,
};

/** Whether a session can have signed the event. Other events are acts of the coordinator, an operator or a reviewer. */
const isActOfSession = (event: ProofEvent): boolean =>
  commandsOf(event).length > 0 && event.payload !== null && event.payload.by === undefined;

/**
 * Whether a review accepted the result of this event. A review accepts in the name of the holder, whose signature is on the
 * submission for the review.
 */
const isApproved = ({ subject, generation, payload }: ProofEvent, { events }: SummarySource): boolean =>
  events.some(
    (event) =>
      claimEventKindIn(event) === 'reviewed' &&
      event.subject === subject &&
      event.generation === generation &&
      event.payload?.decision === 'APPROVED' &&
      event.payload.candidate_sha256 === payload?.result_sha256,
  );

function signatureText(event: ProofEvent, { events, signatures }: SummarySource): string {
  const signature = readSignature(event.payload?.signature ?? '');
  if (signature === null) return 'not signed';
  const key = sessionKey(event, events);
  if (key === null) return 'its signature is not verified: the key of the session is not in this file';
  if (signatures.some(({ position }) => position === event.position))
    return `signed at ${signature.issued_at} with the session's key ${key}`;
  return 'its signature is not verified: the body of the command is not in this file';
}

/** Generations are granted in order, so a missing number is a grant that the file does not show, or one that a loss skipped. */
function missingGrants({ result }: ResultContext, source: SummarySource): string[] {
  const granted = withRoles(source)
    .filter(({ role }) => ['grant', 'grant_of_parked_result', 'earlier_grant'].includes(role))
    .map(({ event }) => event.generation ?? 0);
  const generations = [0, ...granted.sort((one, other) => one - other), (result.generation ?? 0) + 1];
  return generations.slice(1).flatMap((next, at) => {
    const [first, last] = [(generations[at] ?? 0) + 1, next - 1];
    if (first > last) return [];
    return `Not in this file: the grant${first === last ? ` of generation ${first}` : `s of generations ${first} to ${last}`}.`;
  });
}

/** Changes of a subject are numbered without gaps, so the seq of the result is the number of changes up to it. */
function missingChanges({ taskId, result }: ResultContext, events: readonly ProofEvent[]): string[] {
  const { seq: changes = 0 } = result;
  const presentCount = events.filter(({ subject, seq }) => subject === taskId && seq !== undefined).length;
  if (presentCount >= changes) return [];
  return [
    `Not in this file: ${changes - presentCount} of the ${changes} changes up to the result, such as renewals of a lease.`,
  ];
}

function missingInputs({ inputs }: ResultContext, events: readonly ProofEvent[]): string[] {
  if (inputs === null) return ['Not in this file: the inputs. The grant has only a digest of them.'];
  const presentInputs = new Set(events.map(inputName));
  return [...inputs]
    .filter((input) => !presentInputs.has(input))
    .map((input) => `Not in this file: the input ${input.replace(/@(\d+)$/, ', generation $1')}.`);
}
