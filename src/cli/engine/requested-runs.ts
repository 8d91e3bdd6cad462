import type { Genesis } from '../../client/index.js';
import { requestedRuns } from '../../core/engine/requested-runs.js';
import { foldRuns } from '../../core/engine/runs.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { subjectKeys } from '../../core/subject.js';
import { readEvents } from './read-events.js';

interface EdgeName {
  readonly feature_id: string;
  readonly edge: string;
}

export interface OpenEdges {
  /** With a run that somebody has requested, oldest first. */
  readonly requested: readonly EdgeName[];
  /** With a run of this executor that has not ended. */
  readonly unfinished: readonly EdgeName[];
}

/** Their steps are not needed to know which runs are open. */
const TYPES = ['run_requested', 'run_started', 'run_ended'] as const;

/** The edges whose runs wait for an executor, as the log tells it. */
export async function openEdges(genesis: Pick<Genesis, 'events'>, agentId: string): Promise<OpenEdges> {
  const pages = await Promise.all(TYPES.map((type) => readEvents(genesis, { type })));
  const events: EventEnvelope[] = pages.flat().sort((a, b) => a.position - b.position);
  const open = foldRuns(events).filter(({ ended_at, agent_id }) => ended_at === null && agent_id === agentId);
  return {
    requested: requestedRuns(events).flatMap(({ subject }) => edgeOfSubject(subject)),
    unfinished: open.flatMap(({ subject }) => edgeOfSubject(subject)),
  };
}

function edgeOfSubject(subject: string): EdgeName[] {
  const { feature_id, edge } = subjectKeys(subject);
  return feature_id === undefined || edge === undefined ? [] : [{ feature_id, edge }];
}
