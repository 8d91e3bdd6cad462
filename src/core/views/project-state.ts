import { claimEventKindOf } from '../claims/claim-event-kinds.js';
import { evolve } from '../claims/evolve.js';
import type { Head } from '../claims/head.js';
import type { EventDraft, EventEnvelope } from '../events/envelope.js';
import { asKnownEvent } from '../events/known-event.js';
import { recordTrackOfAgent } from '../heads/claim-index.js';
import { HeadTable } from '../heads/head-table.js';
import { applyPlanChange, Plan } from '../plan/plan.js';
import { evolveRecord } from '../record.js';
import { subjectKindOf } from '../subject.js';
import { type AgentStats, updateAgentStats } from './agents.js';
import { Frontier } from './frontier.js';
import { type ParkedIds, updateParked } from './parked.js';

/** State of a project's work, folded from its events; decisions are based on it. Keeps heads, never events. */
export const emptyWork = (heads = new HeadTable()) => ({
  /** Position of the last event folded. */
  position: 0,
  /** Time of that event; null before the first. */
  last_updated: null as string | null,
  heads: heads.claims,
  records: heads.records,
  plan: new Plan(),
  frontier: new Frontier(),
  // Only containers are taken from the index, because they follow the heads. A count would be a copy and would not.
  bySession: heads.claims.index.bySession,
  latestLeaseEndBySession: heads.claims.index.latestLeaseEndBySession,
  sessionsByAgent: heads.claims.index.sessionsByAgent,
  inBackoff: heads.claims.index.inBackoff,
  tracksByAgent: heads.claims.index.tracksByAgent,
});
export type WorkState = ReturnType<typeof emptyWork>;

/** The work state plus the parked results, which only the events contain. */
export interface WorkWithParked extends WorkState {
  readonly parked: ParkedIds;
}

/** The whole state, including statistics per agent. */
export interface ProjectState extends WorkWithParked {
  readonly agents: Map<string, AgentStats>;
}

export const emptyProject = (): ProjectState => ({ ...emptyWork(), parked: new Map(), agents: new Map() });

/** Whether the whole plan is complete. A project without a plan is not done. */
export const isPlanComplete = ({ plan, heads }: WorkState): boolean =>
  plan.subject_count > 0 && heads.completedTasks >= plan.subject_count;

/** Folds one event into a state that the caller owns. An event that was already folded changes nothing. */
export function evolveProject(state: ProjectState, event: EventEnvelope): void {
  if (event.position <= state.position) return;
  updateAgentStats(state.agents, event);
  updateParked(state.parked, event);
  evolveWork(state, event);
}

/** Folds one event into the work state only. */
export function evolveWork(state: WorkState, event: EventEnvelope): void {
  if (event.position <= state.position) return;
  state.position = event.position;
  state.last_updated = event.timestamp;
  if (event.subject === undefined) return;
  if (claimEventKindOf(event.event_type) === 'granted')
    recordTrackOfAgent(state, event.agent_id, event.subject);
  if (event.seq === undefined) return;
  if (subjectKindOf(event.subject) === 'record') foldRecordEvent(state, event.subject, event);
  else foldHeadEvent(state, event.subject, event);
}

export function foldProject(events: Iterable<EventEnvelope>): ProjectState {
  const state = emptyProject();
  for (const event of events) evolveProject(state, event);
  return state;
}

function foldRecordEvent(state: WorkState, subject: string, event: EventEnvelope): void {
  const before = state.records.get(subject) ?? null;
  if (isFolded(before, event)) return;
  state.records.set(subject, evolveRecord(before, event));
  applyPlanEvent(state.plan, event);
}

/** Applies an event to the plan, if the event changes the plan. */
export function applyPlanEvent(plan: Plan, event: EventDraft): void {
  const knownEvent = asKnownEvent(event);
  if (knownEvent?.event_type === 'PLAN_CHANGED') applyPlanChange(plan, knownEvent.payload);
}

function foldHeadEvent(state: WorkState, subject: string, event: EventEnvelope): void {
  const before = state.heads.get(subject) ?? null;
  if (isFolded(before, event)) return;
  setHead(state, before, evolve(before, event));
}

/** Sets a head and updates everything derived from heads. */
export function setHead(state: WorkState, before: Head | null, after: Head): void {
  state.heads.set(after.subject, after);
  state.frontier.onHeadMoved(state, after.subject, before?.phase === 'COMPLETED');
}

/** Whether the head already includes the event: a head that was read from the store may be ahead of the events to fold. */
const isFolded = (head: { seq: number } | null, event: EventEnvelope): boolean =>
  head !== null && (event.seq ?? 0) <= head.seq;
