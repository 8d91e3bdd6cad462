import { isoTime, msOf } from '../../core/events/envelope.js';
import { LOSS_SUBJECT, POLICY_SUBJECT } from '../../core/subject.js';
import type { FoldContext, ProjectState } from '../../core/views/index.js';
import type { Project } from '../queue/project.js';
import { ProjectRules } from '../queue/rules-cache.js';
import { fieldProblem, type Problem } from '../wire/problem.js';
import { cursorAheadProblem } from './cursor.js';
import type { EventHistory } from './history.js';

/** Maximum number of events that a view of the past reads. They are folded from the first event on. */
export const PAST_EVENTS_MAX = 1_000_000;

/** A project as it was at a position of its log. */
interface PastProject {
  readonly state: ProjectState;
  readonly context: FoldContext;
}

export async function pastProject(
  history: EventHistory,
  project: Project,
  at: number,
): Promise<PastProject | Problem> {
  const problem = positionProblem(project, at);
  if (problem !== null) return problem;
  const state = await history.stateAt(project.key, at);
  return { state, context: foldContextAt(project, state) };
}

/** Why the state at a position cannot be shown; null if it can. */
export function positionProblem({ state }: Project, at: number): Problem | null {
  if (at > state.position) return cursorAheadProblem('at', at, state.position);
  if (at <= PAST_EVENTS_MAX) return null;
  return fieldProblem(
    'at',
    `expected at most ${PAST_EVENTS_MAX}: a view of the past reads every event up to that position. To see the present state, omit at.`,
  );
}

/** The time and policy at the position of the state, but the current limits of the tenant. */
function foldContextAt({ key, limits, services }: Project, state: ProjectState): FoldContext {
  const policy = state.records.get(POLICY_SUBJECT) ?? null;
  const loss = state.records.get(LOSS_SUBJECT) ?? null;
  const rules = new ProjectRules({ policy, loss }, limits, services.skewMarginMs);
  const now_ms = msOf(state.last_updated ?? isoTime(0));
  return { key, now_ms, rulesOf: rules.of };
}
