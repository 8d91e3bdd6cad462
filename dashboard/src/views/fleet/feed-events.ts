import { type ClaimEventKind, claimEventKindOf } from '../../../../src/core/claims/claim-event-kinds.js';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';
import { isHarmless } from '../../api/refusal.js';
import { actorName } from '../../model/actor-name.js';

/** An event as a sentence around the id of its task. */
export interface FeedEvent {
  readonly position: number;
  readonly timestamp: string;
  readonly tone: Tone;
  readonly label: string;
  readonly before: string;
  /** Empty for an event of the whole project. */
  readonly subject: string;
  readonly after: string;
  /** The id of the result that the event parked. */
  readonly parkedResult?: string;
}
/** `plain`: the event went as planned. */
type Tone = 'good' | 'warn' | 'bad' | 'accent' | 'plain';

/** The last holder of a subject that an event named. */
export interface KnownHolder {
  readonly agent_id: string;
  /** The holder's last note; empty if there is none. */
  readonly note: string;
}

type Sentence = Pick<FeedEvent, 'tone' | 'label' | 'before' | 'after' | 'parkedResult'>;
type Payload = EventEnvelope['payload'];

/** Whether the event did not go as planned, so that a person should see it. */
export const isNotable = ({ tone }: FeedEvent): boolean => tone !== 'plain';

/** The event in words; null if the page does not show it. `previous` is absent unless an earlier event named the holder. */
export function feedEvent(event: EventEnvelope, previous: KnownHolder | undefined): FeedEvent | null {
  const { event_type, subject = '', position, timestamp } = event;
  if (event_type === 'PLAN_CHANGED')
    return { position, timestamp, subject: '', ...plain('plan', planText(event.payload)) };
  const kind = claimEventKindOf(event_type);
  const sentence =
    kind === undefined
      ? undefined
      : SENTENCES[kind]?.(withActorName(event), event.payload, previous && withActorName(previous));
  if (sentence == null || subject === '') return null;
  return { position, timestamp, subject, ...sentence };
}

const withActorName = <T extends { readonly agent_id: string }>(record: T): T => ({
  ...record,
  agent_id: actorName(record.agent_id),
});

const CAN_BE_ADOPTED = ' It is kept and can be adopted.';

/** The row of a parked result after its adoption. */
export function adoptedRow(row: FeedEvent): FeedEvent {
  const { parkedResult: _, ...otherFields } = row;
  return {
    ...otherFields,
    label: 'refused',
    after: row.after.replace(CAN_BE_ADOPTED, ' It was adopted later.'),
  };
}

function planText({ record }: Payload): string {
  const { version, task_count } = (record ?? {}) as { version?: number; task_count?: number };
  return `version ${version} of the plan was imported: ${task_count} tasks`;
}

type SentenceOf = (
  event: EventEnvelope,
  payload: Payload,
  previous: KnownHolder | undefined,
) => Sentence | null;

const SENTENCES: Partial<Record<ClaimEventKind, SentenceOf>> = {
  granted: ({ agent_id, generation }, { previous_state }, previous) => {
    const isExpired = previous_state === 'EXPIRED';
    if (!isExpired && previous_state !== 'SUPERSEDED')
      return plain('started', `${agent_id} started `, ` (generation ${generation})`);
    if (previous?.agent_id === agent_id)
      return warn('claimed again', `${agent_id} claimed `, ` again (generation ${generation})`);
    const from = previous === undefined ? '' : ` from ${previous.agent_id}`;
    const why = isExpired && from !== '' ? ', whose lease had expired' : '';
    return warn('takeover', `${agent_id} took over `, `${from}${why} (generation ${generation})`);
  },
  lost: ({ agent_id, generation }, { cause, disposition, by }, previous) => {
    if (disposition === 'held') return bad('stale', `${agent_id} is inactive and still holds `);
    if (cause !== 'EXPIRED')
      return warn('superseded', `${actorName(by ?? 'an operator')} took `, ` from ${agent_id}`);
    const note =
      previous?.agent_id === agent_id && previous.note !== '' ? `. Its last note: “${previous.note}”` : '';
    return warn(
      'expired',
      `${agent_id} went silent: its lease on `,
      ` has expired (generation ${generation})${note}`,
    );
  },
  accepted: ({ agent_id, generation }) =>
    plain('done', `${agent_id} finished `, `: the result of generation ${generation} is accepted`),
  noted: ({ agent_id }, { text }) => plain('note', `${agent_id} on `, `: “${text}”`),
  released: ({ agent_id }, { reason, message, by }) => {
    if (reason === 'ERROR') return bad('failed', `${agent_id} failed on `, message ? `: ${message}` : '');
    return reason === 'FORCED'
      ? warn('released', `${actorName(by ?? 'an operator')} released `, ` from ${agent_id}`)
      : plain('returned', `${agent_id} gave back `);
  },
  claim_refused: ({ agent_id }, { reason, holding_agent, limit }) => {
    // A claim of finished work does no harm. `gen iterate` sends one when everything is done.
    if (isHarmless(reason)) return plain('completed', `${agent_id} requested `, ', which is completed');
    const holder = holding_agent === undefined ? '' : `, which ${actorName(holding_agent)} holds`;
    const reached = limit === undefined ? '' : `: ${limit} is reached`;
    return bad('refused', `${reason}: ${agent_id} requested `, `${holder}${reached}`);
  },
  result_refused: ({ agent_id }, payload) => {
    const { rejection_reason, submitted_generation, current_generation, parked, result_id } = payload;
    const isStale = submitted_generation !== current_generation;
    const before = `${isStale ? 'the late result' : 'the result'} of ${agent_id} for `;
    const generations = isStale
      ? `it is of generation ${submitted_generation}, and generation ${current_generation} is current`
      : `generation ${submitted_generation}`;
    const after = ` was refused (${rejection_reason}): ${generations}.`;
    return parked
      ? { ...bad('refused, parked', before, `${after}${CAN_BE_ADOPTED}`), parkedResult: String(result_id) }
      : bad('refused', before, after);
  },
  refusals_counted: (_, { principal, refused_count }) =>
    bad('refused', `${actorName(principal)} has been refused ${refused_count} times on `),
  suspended: ({ agent_id }) => accent('waits', `${agent_id} waits for a decision on `),
  escalated: ({ agent_id }, { reason }) =>
    accent(
      'waits',
      `the result of ${agent_id} for `,
      ` needs a person: ${String(reason).replaceAll('_', ' ')}`,
    ),
  reviewed: (_, { decision, reviewer }) =>
    accent(
      'reviewed',
      `${actorName(reviewer)} decided on `,
      `: ${String(decision).toLowerCase().replaceAll('_', ' ')}`,
    ),
  adopted: (_, { by }) => good('adopted', `${actorName(by)} adopted a parked result for `),
  held: (_, { by, reason }) => warn('on hold', `${actorName(by)} put `, ` on hold: ${reason}`),
  unheld: (_, { by }) => good('hold lifted', `${actorName(by)} lifted the hold of `),
  reset: (_, { by, reason }) => warn('reset', `${actorName(by)} reopened `, `: ${reason}`),
};

/** Longer reasons are cut. The page of the task shows the whole reason. */
const TEXT_CHARS_MAX = 200;
const clip = (text: string): string =>
  text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX)}…`;

const sentenceOf =
  (tone: Tone) =>
  (label: string, before: string, after = ''): Sentence => ({ tone, label, before, after: clip(after) });
const plain = sentenceOf('plain');
const good = sentenceOf('good');
const warn = sentenceOf('warn');
const bad = sentenceOf('bad');
const accent = sentenceOf('accent');
