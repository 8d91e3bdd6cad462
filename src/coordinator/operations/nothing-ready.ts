import type { ClaimResult } from '../../core/contract/claim-replies.js';
import type { EdgeQueue } from '../../core/methodology/routing/edge-queue.js';
import { isPlanComplete, subjectsWithOpenClaim } from '../../core/views/index.js';
import type { DecisionView } from '../queue/decision-view.js';
import { openDependencies } from './facts.js';
import { refusedClaimResult } from './render.js';
import { claimsOfSession, ownWorkAdvice } from './session-claims.js';
import { stuckAdvice } from './stuck-advice.js';

const BLOCKERS_LISTED_MAX = 20;

interface WantedWork {
  readonly session_id: string;
  readonly track: string | undefined;
  readonly wantsTasks: boolean;
  /** Null if no edges were requested, or if the project has none. */
  readonly edges: EdgeQueue | null;
}

/**
 * Lists what to wait for, and says what to do: finish the work that the session holds, wait, or stop because no work is
 * left. A session never waits for itself.
 */
export function nothingReadyResult(view: DecisionView, wanted: WantedWork): ClaimResult {
  const { edges, wantsTasks, track, session_id } = wanted;
  const blockingTasks = wantsTasks ? blockingSubjects(view, track) : [];
  const blockers = new Set([...blockingTasks, ...(edges?.open ?? [])]);
  const claimed = claimsOfSession(view, session_id, 'ACTIVE').map(({ subject }) => subject);
  const ownBlockers = claimed.filter((subject) => blockers.has(subject));
  const otherBlockers = [...blockers].filter((subject) => !ownBlockers.includes(subject)).sort();
  const refusal = {
    ...refusedClaimResult('NOTHING_READY'),
    waiting_for: otherBlockers.slice(0, BLOCKERS_LISTED_MAX),
    done: isWantedWorkDone(view, wanted, blockers),
  };
  // An open task may become ready by itself. If only edges are open, their advice says whether they wait for a person.
  const waitAdvice =
    blockingTasks.length === 0
      ? (edges?.advice ?? null)
      : stuckAdvice(view, [...new Set(blockingTasks)].sort());
  const next =
    ownWorkAdvice(ownBlockers) ?? (otherBlockers.length > 0 ? waitAdvice : emptyAdvice(view, wanted));
  return next === null ? refusal : { ...refusal, next };
}

/** Whether all wanted work is done. A project without work of the wanted kinds is not done: it may still get some. */
function isWantedWorkDone(view: DecisionView, wanted: WantedWork, blockers: ReadonlySet<string>): boolean {
  const { plan } = view.state;
  const { track, wantsTasks, edges } = wanted;
  if (track !== undefined) return plan.tasksOf(track).length > 0 && blockers.size === 0;
  const hasPlannedTasks = wantsTasks && plan.task_count > 0;
  const hasFeatures = edges !== null && edges.feature_count > 0;
  if (!hasPlannedTasks && !hasFeatures) return false;
  return (!hasPlannedTasks || isPlanComplete(view.state)) && (!hasFeatures || edges.open.length === 0);
}

/** The advice if no work can become ready: the reason, and which other work can be requested. */
function emptyAdvice(view: DecisionView, { track, wantsTasks, edges }: WantedWork): string {
  const { plan } = view.state;
  const hasPlan = plan.task_count > 0;
  if (edges !== null && !hasPlan) return edges.advice;
  const where = track === undefined ? 'the plan' : `track ${track}`;
  const isEmpty = track === undefined ? !hasPlan : plan.tasksOf(track).length === 0;
  if (!wantsTasks && edges === null)
    return 'This project has no features, so it has no edges. Request tasks: kinds: ["task"].';
  if (edges === null && !hasPlan && view.methodology !== null)
    return 'There is no task in the plan, but the project has features. Request their edges: kinds: ["edge"].';
  const tasks = isEmpty ? `There is no task in ${where}.` : `Every task in ${where} is completed.`;
  if (edges !== null) return `${tasks} ${edges.advice}`;
  return isEmpty ? `${tasks} Do not wait: add one first (gen task add).` : `${tasks} Do not wait.`;
}

/**
 * What the rest of the plan waits for: claimed work, and startable work that cannot be claimed now, such as
 * tasks on hold.
 */
function blockingSubjects(view: DecisionView, track: string | undefined): string[] {
  const { plan, frontier } = view.state;
  const startableSubjects = function* (): Generator<string> {
    for (const subject of subjectsWithOpenClaim(view.state)) if (plan.has(subject)) yield subject;
    for (const ready of frontier.byTrack.values()) for (const { id } of ready) if (plan.has(id)) yield id;
  };
  if (track === undefined) return [...startableSubjects()];
  return plan.tasksOf(track).flatMap(({ id }) => blockersOf(view, id));
}

/** What keeps a task from completion: its open dependencies, or itself if it has none. */
function blockersOf(view: DecisionView, id: string): readonly string[] {
  if (view.peekHead(id).phase === 'COMPLETED') return [];
  const openDependencyIds = openDependencies(view, id);
  return openDependencyIds.length === 0 ? [id] : openDependencyIds;
}
