import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { Briefing, GrantedClaim } from '../../core/contract/claims.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { dependenciesOf, subtaskDescription } from '../../core/plan/index.js';
import { lineageOf } from '../../core/views/index.js';
import type { DecisionView } from '../queue/decision-view.js';

const BRIEFING_BYTES_MAX = 8 * 1024;
const NOTES_MAX = 20;
const PREDECESSORS_MAX = 20;

/**
 * Builds the briefing for a granted claim: the work, its dependencies, earlier attempts and their results, and the
 * handle. At most 8 KiB, because it goes into a model's context; the oldest items are dropped first.
 */
export function briefingFor(view: DecisionView, claim: GrantedClaim, events: readonly EventEnvelope[]) {
  const { task_id, generation, session_id, id } = claim;
  const planned = view.state.plan.get(task_id);
  const index = planned?.subtask_index ?? null;
  const briefing: Briefing = {
    description:
      planned === undefined
        ? task_id
        : index === null
          ? planned.task.description
          : subtaskDescription(planned.task, index),
    instructions: planned?.task.instructions ?? null,
    dependencies: dependenciesOf(view.state.plan, task_id).map((dependency) => ({
      task_id: dependency,
      work_product_ref: view.head(dependency).result?.work_product_ref ?? null,
    })),
    notes: notesFrom(events).slice(-NOTES_MAX),
    predecessors: predecessorsOf(claim, events).slice(-PREDECESSORS_MAX),
    handle: { task_id, generation, claim_id: id ?? '', session_id },
  };
  return fitToLimit(briefing);
}

function notesFrom(events: readonly EventEnvelope[]): Briefing['notes'] {
  return events
    .filter((event) => claimEventKindOf(event.event_type) === 'noted' && event.payload.text !== undefined)
    .map((event) => ({
      at: event.timestamp,
      agent_id: event.agent_id,
      generation: event.generation ?? 0,
      text: String(event.payload.text),
    }));
}

function predecessorsOf(claim: GrantedClaim, events: readonly EventEnvelope[]): Briefing['predecessors'] {
  const { generations, rejected } = lineageOf(claim.task_id, events);
  return generations
    .filter((earlier) => earlier.generation < claim.generation)
    .map((earlier) => ({
      generation: earlier.generation,
      agent_id: earlier.agent_id,
      outcome: earlier.release_reason ?? 'EXPIRED',
      parked:
        rejected.find((result) => result.generation === earlier.generation && result.parked)?.id ?? null,
    }));
}

const sizeOf = (briefing: Briefing): number => Buffer.byteLength(JSON.stringify(briefing));

/** Drops the oldest notes, then the oldest predecessors, then dependencies, then cuts the instructions, until it fits. */
function fitToLimit(full: Briefing): Briefing {
  let briefing = full;
  while (sizeOf(briefing) > BRIEFING_BYTES_MAX) {
    if (briefing.notes.length > 0) briefing = { ...briefing, notes: briefing.notes.slice(1) };
    else if (briefing.predecessors.length > 1) {
      briefing = { ...briefing, predecessors: briefing.predecessors.slice(1) };
    } else if (briefing.dependencies.length > 10) {
      briefing = { ...briefing, dependencies: briefing.dependencies.slice(0, 10) };
    } else if (briefing.instructions !== null && briefing.instructions.length > 100) {
      briefing = { ...briefing, instructions: truncateHalf(briefing.instructions) };
    } else if (briefing.description.length > 100) {
      briefing = { ...briefing, description: truncateHalf(briefing.description) };
    } else return briefing;
  }
  return briefing;
}

const truncateHalf = (text: string): string => `${text.slice(0, Math.floor(text.length / 2))} … (truncated)`;
