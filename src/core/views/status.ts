import { emptyHead, type Head } from '../claims/head.js';
import { holdReason } from '../claims/lease.js';
import type { Rules } from '../claims/policy.js';
import { isoTime } from '../events/envelope.js';
import { allSteps, type Steps } from '../steps.js';
import { type PlanProgress, progressSteps } from './progress.js';
import type { KeptWork } from './project-state.js';
import { READINESS, type Readiness, type TaskClaim, taskStateIn } from './task-state.js';
import type { Vantage } from './vantage.js';

/** Lists stop here; the counts tell how much there is in all. */
export const STATUS_LIST_MAX = 1000;

/** A subject that no agent's effort alone moves on, why, and who must act. */
export interface Waiting {
  readonly task_id: string;
  readonly readiness: Readiness;
  readonly waits_for: string;
  readonly reason: string;
}

export interface ProjectStatus extends PlanProgress {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly position: number;
  readonly last_updated: string | null;
  readonly counts: Readonly<Record<Readiness, number>>;
  readonly claims: readonly TaskClaim[];
  readonly waiting: readonly Waiting[];
  readonly parked: readonly { readonly task_id: string; readonly parked: number }[];
}

export const projectStatus = (state: KeptWork, vantage: Vantage): ProjectStatus =>
  allSteps(statusSteps(state, vantage));

const SUBJECTS_PER_STEP = 50;

/**
 * The same in steps. The position is that of the beginning; of work that goes on meanwhile, each subject counts as it is when
 * it is looked at.
 */
export function* statusSteps(state: KeptWork, vantage: Vantage): Steps<ProjectStatus> {
  const { position, last_updated } = state;
  const parked = [...state.parked].map(([task_id, kept]) => ({ task_id, parked: kept.size }));
  return {
    ...vantage.key,
    position,
    last_updated,
    ...(yield* countsAndWaiting(state, vantage)),
    ...(yield* progressSteps(state, vantage)),
    claims: liveClaims(state, vantage),
    parked: parked.sort(byTaskId).slice(0, STATUS_LIST_MAX),
  };
}

function* countsAndWaiting(
  state: KeptWork,
  vantage: Vantage,
): Steps<Pick<ProjectStatus, 'counts' | 'waiting'>> {
  const counts = Object.fromEntries(READINESS.map((readiness) => [readiness, 0])) as Record<
    Readiness,
    number
  >;
  const waiting: Waiting[] = [];
  let seen = 0;
  for (const subject of subjectsOf(state)) {
    seen += 1;
    if (seen % SUBJECTS_PER_STEP === 0) yield;
    if (state.heads.get(subject)?.phase === 'COMPLETED') {
      counts.completed += 1;
      continue;
    }
    const { readiness } = taskStateIn(state, subject, vantage);
    counts[readiness] += 1;
    const head = state.heads.get(subject) ?? emptyHead(subject);
    const wait = waitOf(head, readiness, vantage.rulesOf(subject), vantage.now_ms);
    if (wait !== null) waiting.push(wait);
  }
  return { counts, waiting: waiting.sort(byTaskId).slice(0, STATUS_LIST_MAX) };
}

/** The plan's subjects, then those that have a head and stand in no plan: edges, and tasks taken out of it. */
function* subjectsOf(state: KeptWork): Generator<string> {
  yield* state.plan.subjects();
  for (const subject of state.heads.keys()) if (!state.plan.has(subject)) yield subject;
}

function waitOf(head: Head, readiness: Readiness, rules: Rules, now_ms: number): Waiting | null {
  const task_id = head.subject;
  const { claim, generation } = head;
  switch (readiness) {
    case 'held': {
      const reason = holdReason(head, now_ms, rules) ?? '';
      return { task_id, readiness, waits_for: 'a human to unhold it', reason };
    }
    case 'stale': {
      const since = isoTime(claim?.active_at_ms ?? 0);
      const reason = `${claim?.agent_id} holds it and has not been heard of since ${since}`;
      return { task_id, readiness, waits_for: `${claim?.agent_id}, or a human to release it`, reason };
    }
    case 'suspended': {
      const until = isoTime(claim?.suspended_until_ms ?? 0);
      const reason = `${claim?.agent_id} asked for a decision and waits until ${until}`;
      return { task_id, readiness, waits_for: 'a human to review it', reason };
    }
    case 'exhausted': {
      const reason = `generation ${generation} is the last of the ${rules.max_generations_per_task} allowed`;
      return { task_id, readiness, waits_for: 'an admin to raise max_generations_per_task', reason };
    }
    default:
      return null;
  }
}

/** Claims that stand at this moment; one that lapsed since the last event is over, written down or not. */
export function liveClaims(state: KeptWork, vantage: Vantage): TaskClaim[] {
  return [...state.live]
    .map((subject) => taskStateIn(state, subject, vantage).claim)
    .filter((claim) => claim !== null)
    .filter((claim) => claim.state !== 'EXPIRED')
    .sort(byTaskId)
    .slice(0, STATUS_LIST_MAX);
}

const byTaskId = (a: { task_id: string }, b: { task_id: string }): number => (a.task_id < b.task_id ? -1 : 1);
