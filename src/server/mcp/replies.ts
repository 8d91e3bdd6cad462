import type { Explanation } from '../../coordinator/explain.js';
import type { ClaimResult, ReleaseResult, RenewalResult, SubmissionResult } from '../../coordinator/wire.js';
import type { EffectiveCheck } from '../../core/graph/checklist.js';
import type { ProjectStatus } from '../../core/views/index.js';
import type { Handle, Taker, Trouble } from './fleet.js';

/**
 * What a model is told: small, and enough to go on from, since the last reply may be all that it remembers. So
 * each names the handle or the session to use next, and what to do.
 */
export type Told = Record<string, unknown>;

const LISTED_MAX = 5;
const TRACKS_MAX = 20;
const FAULTS_MAX = 5;

const GO_ON = {
  GRANTED:
    'Do the work and call submit with this handle. Call renew before expires_at if it takes longer; note what whoever comes after you should know.',
  CHECKED: 'Submit reports each of the checks under evaluators; those of type human are settled by a review.',
  RENEWED: 'Go on with the work, then call submit with this handle.',
  NOTED: 'Go on with the work, then call submit with this handle.',
  ACCEPTED: 'Done. Call next with this session_id for more work.',
  RELEASED: 'It is free for others. Call next with this session_id for other work.',
} as const;

export function toldClaim(
  result: ClaimResult,
  { agent_id, session_id }: Taker,
  checks: readonly EffectiveCheck[] = [],
): Told {
  const { success, reason, claim, current_holder, briefing, ...rest } = result;
  if (!success || claim === null) {
    return told({ success, reason, ...rest, current_holder, agent_id, session_id });
  }
  const handle = {
    task_id: claim.task_id,
    generation: claim.generation,
    claim_id: claim.id,
    session_id: claim.session_id,
  };
  const { handle: _, ...brief } = briefing ?? { handle };
  const { expires_at } = claim;
  return told({
    success,
    reason,
    handle,
    agent_id: claim.agent_id,
    expires_at,
    briefing: briefing === undefined ? undefined : told(brief),
    warnings: result.warnings,
    checks: checks.filter(({ required }) => required).map(toldCheck),
    next: checks.length === 0 ? GO_ON.GRANTED : `${GO_ON.GRANTED} ${GO_ON.CHECKED}`,
  });
}

const toldCheck = ({ name, type, criterion, command, skipped }: EffectiveCheck): Told =>
  told({ name, type, criterion, command, skipped });

export function toldRenewal(result: RenewalResult, handle: Handle): Told {
  return result.success
    ? told({ ...result, handle, next: GO_ON.RENEWED })
    : told({ ...result, session_id: handle.session_id });
}

export function toldSubmission(result: SubmissionResult, { task_id, session_id }: Handle): Told {
  return told({ task_id, ...result, session_id, next: result.accepted ? GO_ON.ACCEPTED : result.next });
}

export function toldRelease(result: ReleaseResult, { task_id, session_id }: Handle): Told {
  return told({ task_id, ...result, session_id, next: result.success ? GO_ON.RELEASED : result.next });
}

export function toldNote(result: ReleaseResult, handle: Handle): Told {
  return result.success
    ? told({ ...result, handle, next: GO_ON.NOTED })
    : told({ ...result, session_id: handle.session_id });
}

export function toldStatus(status: ProjectStatus): Told {
  const { project_id, total, tracks, counts, claims, waiting, parked } = status;
  return told({
    project_id,
    done: total.pending + total.in_progress === 0,
    total,
    readiness: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    tracks: Object.fromEntries(Object.entries(tracks).slice(0, TRACKS_MAX)),
    claims: claims.slice(0, LISTED_MAX).map(({ task_id, agent_id, generation, expires_at }) => ({
      task_id,
      agent_id,
      generation,
      expires_at,
    })),
    waiting: waiting.slice(0, LISTED_MAX),
    parked: parked.slice(0, LISTED_MAX),
  });
}

export const toldExplanation = (explanation: Explanation): Told => told({ ...explanation });

export const toldTrouble = ({ problem, detail, faults }: Trouble): Told =>
  told({ success: false, code: problem, next: detail, faults: faults?.slice(0, FAULTS_MAX) });

/** What says nothing is left out: every byte is read by a model. */
function told(words: Record<string, unknown>): Told {
  const isSaid = ([, value]: [string, unknown]) =>
    value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(words).filter(isSaid));
}
