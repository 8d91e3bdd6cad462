import type { Head } from '../claims/head.js';
import type { PlannedTask } from '../plan/task.js';
import type { RecordHead } from '../record.js';
import { emptyProject, type ProjectState, setHead } from './project-state.js';

/** A project's state as plain data, so that the events before it need not be folded again. */
export interface ProjectSnapshot
  extends Pick<ProjectState, 'position' | 'last_updated' | 'parked' | 'agents'> {
  readonly tasks: readonly PlannedTask[];
  readonly records: readonly RecordHead[];
  readonly heads: readonly Head[];
  readonly tracks_by_agent: ReadonlyMap<string, Set<string>>;
}

/** Shares its parts with the state: write or copy it before another event is folded. */
export function snapshotProject(state: ProjectState): ProjectSnapshot {
  const { position, last_updated, parked, agents } = state;
  return {
    position,
    last_updated,
    parked,
    agents,
    tasks: [...state.plan.tasks()],
    records: [...state.records.values()],
    heads: [...state.heads.values()],
    tracks_by_agent: state.tracksByAgent,
  };
}

export function loadProject(snapshot: ProjectSnapshot): ProjectState {
  const { position, last_updated, parked, agents } = snapshot;
  const state: ProjectState = { ...emptyProject(), position, last_updated, parked, agents };
  for (const task of snapshot.tasks) state.plan.put(task);
  for (const record of snapshot.records) state.records.set(record.subject, record);
  for (const head of snapshot.heads) setHead(state, null, head);
  // The tracks of earlier agents are restored here, because a head names only its last agent.
  for (const [agentId, tracks] of snapshot.tracks_by_agent) state.tracksByAgent.set(agentId, tracks);
  return state;
}
