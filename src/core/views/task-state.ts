import { isExhausted } from '../claims/generation.js';
import { emptyHead, type Head, type LastClaim } from '../claims/head.js';
import { canTakeOver, holdText, isLive, isStale } from '../claims/lease.js';
import type { Rules } from '../claims/policy.js';
import type { TaskClaim } from '../contract/claim-records.js';
import type { TaskState, TaskStateResult } from '../contract/tasks.js';
import type { Readiness } from '../contract/values.js';
import { isoTime } from '../events/envelope.js';
import { planPositionOf } from '../plan/plan-position.js';
import { openDependenciesOf } from '../plan/ranking.js';
import type { FoldContext } from './fold-context.js';
import type { WorkWithParked } from './project-state.js';

/** Input of a task state, from a view or from a head read from the store. */
export interface TaskStateInput {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly head: Head;
  readonly waiting_for: readonly string[];
  readonly parked: number;
}

export function taskState(input: TaskStateInput, rules: Rules, nowMs: number): TaskState {
  const { head, waiting_for, parked } = input;
  return {
    task_id: head.subject,
    phase: head.phase,
    readiness: readinessOf(head, waiting_for, rules, nowMs),
    generation: head.generation,
    claim: head.claim === null ? null : taskClaim(input, head.claim, rules, nowMs),
    result: resultOf(head),
    waiting_for,
    parked,
  };
}

export function readinessOf(
  head: Head,
  waitingFor: readonly string[],
  rules: Rules,
  nowMs: number,
): Readiness {
  if (head.phase === 'COMPLETED') return 'completed';
  if (holdText(head, nowMs, rules) !== null) return 'held';
  if (isLive(head, nowMs, rules)) {
    if (head.claim?.state === 'SUSPENDED') return 'suspended';
    return isStale(head, nowMs, rules) ? 'stale' : 'claimed';
  }
  if (waitingFor.length > 0) return 'blocked';
  if (head.retry_at_ms !== null && nowMs < head.retry_at_ms) return 'backoff';
  return isExhausted(head.generation, rules) ? 'exhausted' : 'ready';
}

function taskClaim(input: TaskStateInput, claim: LastClaim, rules: Rules, nowMs: number): TaskClaim {
  const { tenant_id, project_id, head } = input;
  const isOpen = claim.state === 'ACTIVE' || claim.state === 'SUSPENDED';
  const endsMs = claim.state === 'SUSPENDED' ? claim.suspended_until_ms : claim.expires_at_ms;
  const isProductOfClaim = head.result?.generation === head.generation;
  return {
    tenant_id,
    project_id,
    ...planPositionOf(head.subject),
    agent_id: claim.agent_id,
    session_id: claim.session_id,
    generation: head.generation,
    // A lapsed claim is expired even if the expiry is not recorded yet.
    state: isOpen && canTakeOver(head, nowMs, rules) ? 'EXPIRED' : claim.state,
    claimed_at: isoTime(claim.claimed_at_ms),
    lease_duration_seconds: claim.lease_seconds,
    expires_at: endsMs === null ? null : isoTime(endsMs),
    work_product_ref: isProductOfClaim ? (head.result?.work_product_ref ?? null) : null,
    metadata: claim.metadata ?? {},
  };
}

function resultOf({ result }: Head): TaskStateResult | null {
  if (result === null) return null;
  const { submitted_at_ms, ...rest } = result;
  return { ...rest, submitted_at: isoTime(submitted_at_ms) };
}

/** The state of a subject, from the project state. */
export function taskStateIn(state: WorkWithParked, subject: string, context: FoldContext): TaskState {
  const isComplete = (id: string): boolean => state.heads.isCompleted(id);
  const input: TaskStateInput = {
    ...context.key,
    head: state.heads.get(subject) ?? emptyHead(subject),
    waiting_for: openDependenciesOf(state.plan, subject, isComplete),
    parked: state.parked.get(subject)?.size ?? 0,
  };
  return taskState(input, context.rulesOf(subject), context.now_ms);
}
