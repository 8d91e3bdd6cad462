import type { Explanation } from '../../coordinator/queries/explain.js';
import type {
  ClaimResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../coordinator/wire/index.js';
import type { EffectiveCheck } from '../../core/methodology/definition/checklist.js';
import type { ProjectStatus } from '../../core/views/index.js';
import type { Claimant, McpHandle, McpProblem } from './backend.js';

/**
 * What a tool returns to the model: small but sufficient, because it may remember only the last reply. Each names the
 * handle or session to use next, and the next step.
 */
export type ToolContent = Record<string, unknown>;

const LIST_ITEMS_MAX = 5;
const TRACKS_MAX = 20;
const FAULTS_MAX = 5;

const NEXT_STEP = {
  GRANTED:
    'Do the work and call submit with this handle. Call renew before expires_at if it takes longer; note what whoever comes after you should know.',
  CHECKED: 'Submit reports each of the checks under evaluators; those of type human are settled by a review.',
  RENEWED: 'Go on with the work, then call submit with this handle.',
  NOTED: 'Go on with the work, then call submit with this handle.',
  ACCEPTED: 'Done. Call next with this session_id for more work.',
  RELEASED: 'It is free for others. Call next with this session_id for other work.',
} as const;

export function renderClaim(
  result: ClaimResult,
  { agent_id, session_id }: Claimant,
  checks: readonly EffectiveCheck[] = [],
): ToolContent {
  const { success, reason, claim, current_holder, briefing, ...rest } = result;
  if (!success || claim === null) {
    return omitEmpty({ success, reason, ...rest, current_holder, agent_id, session_id });
  }
  const handle = {
    task_id: claim.task_id,
    generation: claim.generation,
    claim_id: claim.id,
    session_id: claim.session_id,
  };
  const { handle: _, ...brief } = briefing ?? { handle };
  const { expires_at } = claim;
  return omitEmpty({
    success,
    reason,
    handle,
    agent_id: claim.agent_id,
    expires_at,
    briefing: briefing === undefined ? undefined : omitEmpty(brief),
    warnings: result.warnings,
    checks: checks.filter(({ required }) => required).map(renderCheck),
    next: checks.length === 0 ? NEXT_STEP.GRANTED : `${NEXT_STEP.GRANTED} ${NEXT_STEP.CHECKED}`,
  });
}

const renderCheck = ({ name, type, criterion, command, skipped }: EffectiveCheck): ToolContent =>
  omitEmpty({ name, type, criterion, command, skipped });

export function renderRenewal(result: RenewalResult, handle: McpHandle): ToolContent {
  return result.success
    ? omitEmpty({ ...result, handle, next: NEXT_STEP.RENEWED })
    : omitEmpty({ ...result, session_id: handle.session_id });
}

export function renderSubmission(result: SubmissionResult, { task_id, session_id }: McpHandle): ToolContent {
  return omitEmpty({
    task_id,
    ...result,
    session_id,
    next: result.accepted ? NEXT_STEP.ACCEPTED : result.next,
  });
}

export function renderRelease(result: ReleaseResult, { task_id, session_id }: McpHandle): ToolContent {
  return omitEmpty({
    task_id,
    ...result,
    session_id,
    next: result.success ? NEXT_STEP.RELEASED : result.next,
  });
}

export function renderNote(result: ReleaseResult, handle: McpHandle): ToolContent {
  return result.success
    ? omitEmpty({ ...result, handle, next: NEXT_STEP.NOTED })
    : omitEmpty({ ...result, session_id: handle.session_id });
}

export function renderStatus(status: ProjectStatus): ToolContent {
  const { project_id, total, tracks, counts, claims, waiting, parked } = status;
  return omitEmpty({
    project_id,
    done: total.pending + total.in_progress === 0,
    total,
    readiness: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    tracks: Object.fromEntries(Object.entries(tracks).slice(0, TRACKS_MAX)),
    claims: claims.slice(0, LIST_ITEMS_MAX).map(({ task_id, agent_id, generation, expires_at }) => ({
      task_id,
      agent_id,
      generation,
      expires_at,
    })),
    waiting: waiting.slice(0, LIST_ITEMS_MAX),
    parked: parked.slice(0, LIST_ITEMS_MAX),
  });
}

export const renderExplanation = (explanation: Explanation): ToolContent => omitEmpty({ ...explanation });

export const renderProblem = ({ problem, detail, faults }: McpProblem): ToolContent =>
  omitEmpty({ success: false, code: problem, next: detail, faults: faults?.slice(0, FAULTS_MAX) });

/** Omits empty fields, since every byte takes space in a model's context. */
function omitEmpty(fields: Record<string, unknown>): ToolContent {
  const hasContent = ([, value]: [string, unknown]) =>
    value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(hasContent));
}
