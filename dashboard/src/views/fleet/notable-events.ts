import { type ClaimEventKind, claimEventKindOf } from '../../../../src/core/claims/claim-event-kinds.js';
import type { EventEnvelope } from '../../../../src/core/contract/events.js';

/** An event that a person should see, as a sentence around the id of its task. */
export interface NotableEvent {
  readonly position: number;
  readonly timestamp: string;
  readonly tone: 'good' | 'warn' | 'bad' | 'accent';
  readonly label: string;
  readonly before: string;
  readonly subject: string;
  readonly after: string;
}

type Sentence = Pick<NotableEvent, 'tone' | 'label' | 'before' | 'after'>;
type Payload = EventEnvelope['payload'];

/** The event in words; null if it is ordinary. `previousHolder` is known only if an earlier event named it. */
export function notableEvent(event: EventEnvelope, previousHolder: string | undefined): NotableEvent | null {
  const { event_type, subject, position, timestamp } = event;
  const kind = claimEventKindOf(event_type);
  const sentence = kind === undefined ? undefined : SENTENCES[kind]?.(event, event.payload, previousHolder);
  if (sentence == null || subject === undefined) return null;
  return { position, timestamp, subject, ...sentence };
}

type SentenceOf = (
  event: EventEnvelope,
  payload: Payload,
  previousHolder: string | undefined,
) => Sentence | null;

const SENTENCES: Partial<Record<ClaimEventKind, SentenceOf>> = {
  granted: ({ agent_id, generation }, { previous_state }, previousHolder) => {
    if (previous_state !== 'EXPIRED' && previous_state !== 'SUPERSEDED') return null;
    const from = previousHolder === undefined ? '' : ` from ${previousHolder}`;
    return previousHolder === agent_id
      ? warn('claimed again', `${agent_id} claimed `, ` again (generation ${generation})`)
      : warn('takeover', `${agent_id} took over `, `${from} (generation ${generation})`);
  },
  lost: ({ agent_id }, { cause, disposition, by }) => {
    if (disposition === 'held') return bad('stale', `${agent_id} is inactive and still holds `);
    return cause === 'EXPIRED'
      ? warn('lapsed', `the lease of ${agent_id} on `, ' has ended')
      : warn('superseded', `${by ?? 'an operator'} took `, ` from ${agent_id}`);
  },
  released: ({ agent_id }, { reason, message, by }) => {
    if (reason === 'ERROR') return bad('failed', `${agent_id} failed on `, message ? `: ${message}` : '');
    return reason === 'FORCED'
      ? warn('released', `${by ?? 'an operator'} released `, ` from ${agent_id}`)
      : null;
  },
  claim_denied: ({ agent_id }, { reason, holding_agent }) => {
    const holder = holding_agent === undefined ? '' : `, which ${holding_agent} holds`;
    return bad('refused', `${reason}: ${agent_id} asked for `, holder);
  },
  result_denied: ({ agent_id }, { rejection_reason, submitted_generation, current_generation, parked }) => {
    const generations =
      submitted_generation === current_generation
        ? ` (generation ${submitted_generation})`
        : ` (generation ${submitted_generation}, now ${current_generation})`;
    const sentence = [`${rejection_reason}: result of ${agent_id} for `, generations] as const;
    return parked ? warn('parked', sentence[0], `${sentence[1]} is kept`) : bad('refused', ...sentence);
  },
  refusals_counted: (_, { principal, refused_count }) =>
    bad('refused', `${refused_count} refusals so far to ${principal} on `),
  suspended: ({ agent_id }) => accent('waits', `${agent_id} waits for a decision on `),
  escalated: ({ agent_id }, { reason }) =>
    accent('waits', `the result of ${agent_id} for `, ` needs a person: ${reason}`),
  reviewed: (_, { decision, reviewer }) =>
    accent('reviewed', `${reviewer} decided on `, `: ${String(decision).toLowerCase().replaceAll('_', ' ')}`),
  adopted: (_, { by }) => good('adopted', `${by} adopted a parked result for `),
  held: (_, { by, reason }) => warn('held', `${by} holds back `, `: ${reason}`),
  unheld: (_, { by }) => good('unheld', `${by} removed the hold of `),
  reset: (_, { by, reason }) => warn('reset', `${by} reopened `, `: ${reason}`),
};

/** The whole reason is on the page of the task. */
const TEXT_MAX = 160;
const clip = (text: string): string => (text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}…`);

const sentenceOf =
  (tone: Sentence['tone']) =>
  (label: string, before: string, after = ''): Sentence => ({ tone, label, before, after: clip(after) });
const good = sentenceOf('good');
const warn = sentenceOf('warn');
const bad = sentenceOf('bad');
const accent = sentenceOf('accent');
