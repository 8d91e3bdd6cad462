import type { ReviewEntry } from '../contract/reviews.js';
import type { ClaimHistory, Lineage } from '../contract/tasks.js';
import type { EventEnvelope } from '../events/envelope.js';
import type { ClaimEvent } from '../events/known-event.js';
import { planPositionOf } from '../plan/plan-position.js';
import { claimEvents } from './claim-events.js';
import { RefusalCounts } from './refusals.js';
import { resultsOf } from './results.js';

/** History of one subject, folded from its events in order of position. */
export function lineageOf(task_id: string, events: readonly EventEnvelope[]): Lineage {
  const generations = new Map<number, ClaimHistory>();
  const reviews: ReviewEntry[] = [];
  for (const claimEvent of claimEvents(events)) {
    const { generation = 0, timestamp: at } = claimEvent.event;
    const existing = generations.get(generation);
    if (existing !== undefined) generations.set(generation, { ...existing, ...endOf(claimEvent) });
    else if (claimEvent.kind === 'granted') generations.set(generation, historyOfGrant(claimEvent));
    if (claimEvent.kind === 'reviewed') {
      const { iteration, decision, reviewer, pushed_by, comment = null } = claimEvent.payload;
      const pushed = pushed_by === undefined ? {} : { pushed_by };
      reviews.push({ generation, iteration, decision, reviewer, ...pushed, comment, at });
    }
  }
  const rejected = resultsOf(events).filter(({ accepted }) => !accepted);
  const refusals = new RefusalCounts();
  for (const event of events) refusals.add(event);
  return {
    task_id,
    generations: [...generations.values()],
    rejected,
    refused_count: refusals.total,
    reviews,
  };
}

function historyOfGrant({ event, payload }: ClaimEvent<'granted'>): ClaimHistory {
  return {
    id: event.event_id,
    tenant_id: event.tenant_id,
    project_id: event.project_id,
    ...planPositionOf(event.subject ?? ''),
    generation: event.generation ?? 0,
    session_id: event.session_id ?? '',
    agent_id: event.agent_id,
    user_id: payload.user_id ?? null,
    acquired_at: event.timestamp,
    released_at: null,
    release_reason: null,
    result_accepted: false,
    work_product_ref: null,
    adopted_from: null,
  };
}

/**
 * The fields that an event sets at the end of its generation; null if it ends nothing. A later event overrides an earlier
 * one: a late result still completes an expired claim.
 */
function endOf({ kind, event, payload }: ClaimEvent): Partial<ClaimHistory> | null {
  const released_at = event.timestamp;
  switch (kind) {
    case 'lost':
      if (payload.disposition === 'held') return null;
      return { released_at: payload.expired_at ?? released_at, release_reason: payload.cause };
    case 'released': {
      const { reason: release_reason, message } = payload;
      return { released_at, release_reason, ...(message == null ? {} : { release_message: message }) };
    }
    case 'accepted':
    case 'adopted':
      return {
        released_at,
        release_reason: 'COMPLETED',
        result_accepted: true,
        work_product_ref: payload.work_product_ref,
        adopted_from: 'adopted_from' in payload ? payload.adopted_from : null,
      };
    default:
      return null;
  }
}

/** The table of specification 004, §9.2, as data: one row per generation, followed by the refused results. */
export function lineageTable({ generations, rejected }: Lineage) {
  return {
    rows: generations.map((entry) => ({
      generation: entry.generation,
      session: entry.session_id,
      agent: entry.agent_id,
      user: entry.user_id,
      acquired: entry.acquired_at,
      released: entry.released_at,
      result: entry.result_accepted ? ('ACCEPTED' as const) : (entry.release_reason ?? 'IN_PROGRESS'),
    })),
    rejected: rejected.map((result) => ({
      session: result.session_id,
      agent: result.agent_id,
      submitted: result.submitted_at,
      generation: result.generation,
      current_generation: result.current_generation,
      reason: result.rejection_reason ?? '',
    })),
  };
}

export type LineageTable = Readonly<ReturnType<typeof lineageTable>>;
export type LineageRow = Readonly<LineageTable['rows'][number]>;
