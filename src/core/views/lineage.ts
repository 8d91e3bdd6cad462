import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import type { ReleaseReason, ReviewDecision } from '../claims/head.js';
import type { ClaimEventPayloads } from '../claims/payloads.js';
import type { EventEnvelope } from '../events/envelope.js';
import { dedupeEvents } from './dedupe-events.js';
import { type PlanPosition, planPositionOf } from './plan-position.js';
import { resultsOf, type TaskResult } from './results.js';

/** One generation of a subject, from grant to end (seed 004 §4.2.1). */
export interface ClaimHistory extends PlanPosition {
  /** Id of the event that granted it. */
  readonly id: string;
  readonly tenant_id: string;
  readonly project_id: string;
  readonly generation: number;
  readonly session_id: string;
  readonly agent_id: string;
  readonly user_id: string | null;
  readonly acquired_at: string;
  /** Null while the claim is held. */
  readonly released_at: string | null;
  readonly release_reason: ReleaseReason | null;
  /** Message of the release, if there was one. */
  readonly release_message?: string;
  readonly result_accepted: boolean;
  readonly work_product_ref: string | null;
  /** Set if a human adopted a parked result of an older generation. */
  readonly adopted_from: ClaimEventPayloads['adopted']['adopted_from'] | null;
}

export interface Lineage {
  readonly task_id: string;
  readonly generations: readonly ClaimHistory[];
  readonly rejected: readonly TaskResult[];
  /** Human reviews of its candidates, in order. */
  readonly reviews: readonly ReviewEntry[];
  /** Number of older events that are left out; absent if none are. */
  readonly omitted?: number;
}

export interface ReviewEntry {
  readonly generation: number;
  readonly iteration: number;
  readonly decision: ReviewDecision;
  readonly reviewer: string;
  readonly comment: string | null;
  readonly at: string;
}

type GenerationEnd = Pick<ClaimHistory, 'released_at' | 'release_reason'> & Partial<ClaimHistory>;

/** History of one subject, folded from its events in order of position. */
export function lineageOf(task_id: string, events: readonly EventEnvelope[]): Lineage {
  const generations = new Map<number, ClaimHistory>();
  for (const event of dedupeEvents(events)) {
    const generation = event.generation ?? 0;
    const existing = generations.get(generation);
    const next = existing === undefined ? historyOfGrant(event) : { ...existing, ...endOf(event) };
    if (next !== null) generations.set(generation, next);
  }
  const rejected = resultsOf(events).filter(({ accepted }) => !accepted);
  return { task_id, generations: [...generations.values()], rejected, reviews: reviewsOf(events) };
}

function reviewsOf(events: readonly EventEnvelope[]): ReviewEntry[] {
  return [...dedupeEvents(events)]
    .filter(({ event_type }) => claimEventKindOf(event_type) === 'reviewed')
    .map(({ payload, generation = 0, timestamp: at }) => {
      const {
        iteration,
        decision,
        reviewer,
        comment = null,
      } = payload as unknown as ClaimEventPayloads['reviewed'];
      return { generation, iteration, decision, reviewer, comment, at };
    });
}

function historyOfGrant(event: EventEnvelope): ClaimHistory | null {
  if (claimEventKindOf(event.event_type) !== 'granted') return null;
  return {
    id: event.event_id,
    tenant_id: event.tenant_id,
    project_id: event.project_id,
    ...planPositionOf(event.subject ?? ''),
    generation: event.generation ?? 0,
    session_id: event.session_id ?? '',
    agent_id: event.agent_id,
    user_id: (event.payload as unknown as ClaimEventPayloads['granted']).user_id ?? null,
    acquired_at: event.timestamp,
    released_at: null,
    release_reason: null,
    result_accepted: false,
    work_product_ref: null,
    adopted_from: null,
  };
}

/** The last event of a generation wins: a late result still completes an expired claim. */
function endOf(event: EventEnvelope): GenerationEnd | null {
  const released_at = event.timestamp;
  switch (claimEventKindOf(event.event_type)) {
    case 'lost': {
      const { cause, disposition, expired_at } = event.payload as unknown as ClaimEventPayloads['lost'];
      if (disposition === 'held') return null;
      return { released_at: expired_at ?? released_at, release_reason: cause };
    }
    case 'released': {
      const { reason, message } = event.payload as unknown as ClaimEventPayloads['released'];
      const messageField = message == null ? {} : { release_message: message };
      return { released_at, release_reason: reason, ...messageField };
    }
    case 'accepted':
    case 'adopted': {
      const { work_product_ref } = event.payload as unknown as ClaimEventPayloads['accepted'];
      const { adopted_from } = event.payload as unknown as Partial<ClaimEventPayloads['adopted']>;
      return {
        released_at,
        release_reason: 'COMPLETED',
        result_accepted: true,
        work_product_ref,
        adopted_from: adopted_from ?? null,
      };
    }
    default:
      return null;
  }
}

export interface LineageTable {
  readonly rows: readonly LineageRow[];
  readonly rejected: readonly RejectedRow[];
}
export interface LineageRow {
  readonly generation: number;
  readonly session: string;
  readonly agent: string;
  readonly user: string | null;
  readonly acquired: string;
  readonly released: string | null;
  readonly result: 'ACCEPTED' | 'IN_PROGRESS' | ReleaseReason;
}
export interface RejectedRow {
  readonly session: string;
  readonly agent: string;
  readonly submitted: string;
  readonly generation: number;
  readonly current_generation: number | null;
  readonly reason: string;
}

/** The table of seed 004 §9.2 as data: one row per generation, followed by the refused results. */
export function lineageTable({ generations, rejected }: Lineage): LineageTable {
  return {
    rows: generations.map((entry) => ({
      generation: entry.generation,
      session: entry.session_id,
      agent: entry.agent_id,
      user: entry.user_id,
      acquired: entry.acquired_at,
      released: entry.released_at,
      result: entry.result_accepted ? 'ACCEPTED' : (entry.release_reason ?? 'IN_PROGRESS'),
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
