import type { Briefing } from '../../core/contract/briefing.js';
import type { GrantedClaim } from '../../core/contract/claim-records.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { ownValue } from '../../core/own-value.js';
import { dependenciesOf, subtaskDescription } from '../../core/plan/index.js';
import { subjectKeys, subjectKindOf } from '../../core/subject.js';
import { lineageOf } from '../../core/views/index.js';
import { edgeDetailsOf } from '../queries/tasks.js';
import type { DecisionView } from '../queue/decision-view.js';
import { dependencyBriefing, lastFailure, notesFrom } from './briefing-parts.js';
import { earlierEdges } from './edge-facts.js';
import { shortenToLimit } from './fit-briefing.js';

const NOTES_MAX = 20;
const PREDECESSORS_MAX = 20;
/** Maximum number of dependencies whose results and notes are read. Further dependencies are listed without them. */
const DEPENDENCIES_READ_MAX = 20;

/** All events of a subject. */
type ReadEvents = (subject: string) => Promise<readonly EventEnvelope[]>;

/**
 * Builds the briefing for a granted claim: the work, the results it builds on, earlier attempts, and the handle. For an
 * edge also its checks and what the last iteration failed. The briefing goes into a model's context, so it is small.
 */
export async function briefingFor(
  view: DecisionView,
  claim: GrantedClaim,
  readEvents: ReadEvents,
): Promise<Briefing> {
  const { task_id, generation, session_id, id } = claim;
  const events = await readEvents(task_id);
  const isEdge = subjectKindOf(task_id) === 'edge';
  return shortenToLimit({
    ...workOf(view, task_id),
    dependencies: await dependenciesFor(view, task_id, readEvents),
    notes: notesFrom(events).slice(-NOTES_MAX),
    predecessors: predecessorsOf(claim, events).slice(-PREDECESSORS_MAX),
    ...(isEdge ? { checks: edgeDetailsOf(view, task_id).checks ?? [], ...lastFailure(events) } : {}),
    handle: { task_id, generation, claim_id: id, session_id },
  });
}

function workOf(view: DecisionView, subject: string): Pick<Briefing, 'description' | 'instructions'> {
  const planned = view.state.plan.get(subject);
  if (planned === undefined)
    return {
      description: edgeDetailsOf(view, subject).title ?? subject,
      instructions: edgeGuidance(view, subject),
    };
  const { task, subtask_index: index } = planned;
  return {
    description: index === null ? task.description : subtaskDescription(task, index),
    instructions: task.instructions ?? null,
  };
}

/** What the edge's file tells the agents that work on it. */
function edgeGuidance({ methodology }: DecisionView, subject: string): string | null {
  const { edge = '' } = subjectKeys(subject);
  const guidance = methodology === null ? undefined : ownValue(methodology.edges, edge)?.extra.agent_guidance;
  return typeof guidance === 'string' && guidance.trim() !== '' ? guidance.trim() : null;
}

async function dependenciesFor(view: DecisionView, subject: string, readEvents: ReadEvents) {
  const ids =
    subjectKindOf(subject) === 'edge'
      ? earlierEdges(view, subject)
      : dependenciesOf(view.state.plan, subject);
  return Promise.all(
    ids.map(async (id, index) => {
      const dependency = {
        task_id: id,
        work_product_ref: view.peekHead(id).result?.work_product_ref ?? null,
      };
      if (index >= DEPENDENCIES_READ_MAX) return dependency;
      return { ...dependency, ...dependencyBriefing(view.key, id, await readEvents(id)) };
    }),
  );
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
      ...(earlier.release_message === undefined ? {} : { message: earlier.release_message }),
    }));
}
