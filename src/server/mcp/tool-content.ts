import { handleOf } from '../../client/renewer.js';
import type { ApiProblem } from '../../client/replies.js';
import { shortenToLimit } from '../../coordinator/operations/fit-briefing.js';
import type { Briefing } from '../../core/contract/briefing.js';
import type { EffectiveCheck } from '../../core/contract/checks.js';
import type {
  ClaimResult,
  NoteResult,
  ReleaseResult,
  RenewalResult,
  SubmissionResult,
} from '../../core/contract/claim-replies.js';
import { isClaimKept } from '../../core/contract/codes.js';
import type { ProjectStatus } from '../../core/contract/overview.js';
import type { DraftRefusal } from '../../workspace/drafts/refusal.js';
import type { McpHandle } from './handle.js';

/**
 * What a tool returns to the model: small but sufficient, because the model may remember only the last reply. Each reply
 * names the handle or session to use next, and the next step.
 */
export type ToolContent = Record<string, unknown>;

export interface Claimant {
  readonly agent_id: string;
  readonly session_id: string;
}

const LIST_ITEMS_MAX = 5;
const TRACKS_MAX = 20;
const FAULTS_MAX = 5;
/** The size of the field for the draft folder in a briefing, without its value. */
const DRAFT_FIELD_BYTES = Buffer.byteLength('"draft_folder":"",');

const NEXT_STEP = {
  GRANTED:
    'Do the work and call submit with this handle. Call renew before expires_at if it takes longer; add a note for the next agent.',
  CHECKED: 'Submit with the result of each check under evaluators; a review decides checks of type human.',
  DRAFTS:
    "Write each file to draft_folder (relative to the project's root), under its path in the project, then submit with drafts: true.",
  HELD: 'Continue the work, then call submit with this handle.',
  ACCEPTED: 'Done. Call next with this session_id for more work.',
  RELEASED: 'Released. Call next with this session_id for other work.',
} as const;

/** `draftFolder`: where the holder writes; null if it submits data. */
export function renderClaim(
  result: ClaimResult,
  { agent_id, session_id }: Claimant,
  draftFolder: string | null,
): ToolContent {
  if (!result.success) {
    const { success, reason, current_holder, ...otherFields } = result;
    return omitEmpty({ success, reason, ...otherFields, current_holder, agent_id, session_id });
  }
  const { success, reason, resumed, claim, warnings } = result;
  const reservedBytes = draftFolder === null ? 0 : DRAFT_FIELD_BYTES + Buffer.byteLength(draftFolder);
  const briefing = result.briefing === undefined ? undefined : shortenToLimit(result.briefing, reservedBytes);
  const checks = briefing?.checks ?? [];
  const steps = [
    NEXT_STEP.GRANTED,
    ...(checks.length === 0 ? [] : [NEXT_STEP.CHECKED]),
    ...(draftFolder === null ? [] : [NEXT_STEP.DRAFTS]),
  ];
  return omitEmpty({
    success,
    reason,
    resumed,
    handle: handleOf(claim),
    agent_id: claim.agent_id,
    expires_at: claim.expires_at,
    briefing: briefing === undefined ? undefined : renderBriefing(briefing, draftFolder),
    warnings,
    checks: checks.filter(({ required }) => required).map(renderCheck),
    next: steps.join(' '),
  });
}

/** Omits the fields that the reply has elsewhere. `read` names the tool that reads a result, instead of a path. */
function renderBriefing(
  { handle: _, checks: __, dependencies, ...briefing }: Briefing,
  draft_folder: string | null,
): ToolContent {
  const renderedDependencies = dependencies.map((dependency) =>
    omitEmpty({
      ...dependency,
      read: dependency.read === undefined ? undefined : `Call result with task_id ${dependency.task_id}.`,
    }),
  );
  return omitEmpty({ ...briefing, dependencies: renderedDependencies, draft_folder });
}

const renderCheck = ({ name, type, criterion, command, skipped }: EffectiveCheck): ToolContent =>
  omitEmpty({ name, type, criterion, command, skipped });

/** The reply to a renewal or a note: the holder keeps the work, or has lost it. */
export function renderRenewalOrNote(result: RenewalResult | NoteResult, handle: McpHandle): ToolContent {
  return result.success
    ? omitEmpty({ ...result, handle, next: NEXT_STEP.HELD })
    : omitEmpty({ ...result, session_id: handle.session_id });
}

/** The reply to a submission or a release: it ends the work, or is refused. */
export function renderSubmissionOrRelease(
  result: SubmissionResult | ReleaseResult,
  handle: McpHandle,
): ToolContent {
  const { task_id, session_id } = handle;
  const next = 'next' in result ? result.next : NEXT_STEP[result.reason];
  const handleOrSession = isClaimKept(result.reason) ? { handle } : { session_id };
  return omitEmpty({ task_id, ...result, ...handleOrSession, next });
}

/** The reply to refused drafts: nothing was submitted, and the claim is unchanged. */
export const renderDraftRefusal = (
  { refused, says, next }: DraftRefusal,
  handle: McpHandle,
): ToolContent => ({
  accepted: false,
  reason: refused,
  says,
  handle,
  next,
});

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

export const renderProblem = ({ code, detail, faults }: ApiProblem, handle?: McpHandle): ToolContent =>
  omitEmpty({ success: false, code, next: detail, faults: faults?.slice(0, FAULTS_MAX), handle });

/** Omits empty fields, since every byte takes space in a model's context. */
export function omitEmpty(fields: object): ToolContent {
  const hasContent = ([, value]: [string, unknown]) =>
    value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(hasContent));
}
