import type { Gate, Head } from '../../core/claims/head.js';
import { compareText } from '../../core/compare-text.js';
import type { PendingReview } from '../../core/contract/reviews.js';
import { isoTime } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import {
  isFilesResult,
  MANIFEST_BYTES_MAX,
  parseManifest,
  parseResultBlob,
} from '../../core/methodology/definition/manifest.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import { subjectKeys } from '../../core/subject.js';
import { subjectsWithOpenClaim } from '../../core/views/index.js';
import type { Blobs } from '../../stores/blobs.js';
import { StoreUnavailable } from '../../stores/store.js';
import { edgeDetailsOf } from '../queries/tasks.js';
import type { DecisionView } from '../queue/decision-view.js';
import { sha256Hex } from '../runtime/identity.js';
import { type ComparedContent, DIFF_FILE_BYTES_MAX, diffFiles, type FileDiff } from './file-diffs.js';
import { reviewTimesOf } from './review-times.js';

/** Candidates that wait for a person: overdue ones first, then the longest wait. */
export function pendingReviews(view: DecisionView, state: MethodologyState): PendingReview[] {
  const waiting: PendingReview[] = [];
  for (const subject of subjectsWithOpenClaim(view.state)) {
    const review = pendingReviewOf(view, state, subject);
    if (review !== null) waiting.push(review);
  }
  return waiting.sort(
    (a, b) =>
      Number(b.overdue) - Number(a.overdue) ||
      compareText(a.since, b.since) ||
      compareText(a.task_id, b.task_id),
  );
}

/** The candidate of a subject that waits for a person; null if there is none. */
export function pendingReviewOf(
  view: DecisionView,
  state: MethodologyState,
  subject: string,
): PendingReview | null {
  const head = view.state.heads.get(subject);
  return head === undefined ? null : reviewOf(head, view, state);
}

function reviewOf(head: Head, view: DecisionView, state: MethodologyState): PendingReview | null {
  const { subject, generation, claim, gate } = head;
  const times = reviewTimesOf(head, view.methodology?.engine?.review);
  if (times === null || claim === null || gate === null) return null;
  const { since_ms, deadline_ms } = times;
  const { feature_id = null, edge = null } = subjectKeys(subject);
  const edgeState = feature_id === null ? undefined : state.features.get(feature_id)?.edges.get(edge ?? '');
  const { agent_id, agent_role } = claim;
  // Evaluators submitted with the candidate take precedence over those reported earlier.
  const { evaluators } = gate.candidate?.evidence ?? {};
  return {
    task_id: subject,
    feature_id,
    edge,
    generation,
    iteration: gate.iteration,
    candidate_sha256: gate.candidate_sha256,
    work_product_ref: gate.candidate?.work_product_ref ?? null,
    agent_id,
    agent_role,
    reason:
      escalationText(state, feature_id, edge) ??
      edgeState?.escalation ??
      `${agent_id} requested a decision before continuing`,
    since: isoTime(since_ms),
    deadline: deadline_ms === null ? null : isoTime(deadline_ms),
    overdue: deadline_ms !== null && view.now_ms >= deadline_ms,
    notice_failed: failedNoticeOf(state, head, gate),
    evaluators: evaluators === undefined ? (edgeState?.evaluators ?? null) : { ...evaluators },
    ...candidateFilesOf(gate.candidate?.data),
    ...(gate.failing === undefined ? {} : { failing: gate.failing }),
    human_checks: humanChecks(view, subject),
    next: genCommand(
      'review',
      ...(feature_id === null ? [subject] : ['--feature', feature_id, '--edge', edge ?? '']),
    ),
  };
}

function failedNoticeOf(state: MethodologyState, { subject, generation }: Head, gate: Gate) {
  const failed = state.failed_notices.get(subject);
  if (failed === undefined || failed.generation !== generation) return null;
  if (failed.iteration !== gate.iteration || failed.candidate_sha256 !== gate.candidate_sha256) return null;
  const { host, error } = failed;
  return { host, error };
}

/**
 * Adds the files of a candidate that was not submitted, such as the last one of a run that ended at a limit.
 * The digest of such a candidate is the digest of its manifest. Returns the review unchanged if there is no such
 * manifest, or if the blobs cannot be read now.
 */
export async function withFiles(
  review: PendingReview,
  tenantId: string,
  blobs: Blobs,
): Promise<PendingReview> {
  if (review.files !== null || review.work_product_ref !== null) return review;
  const bytes = await readManifest(review.candidate_sha256, tenantId, blobs);
  if (bytes === null || sha256Hex(bytes) !== review.candidate_sha256) return review;
  return { ...review, ...candidateFilesOf(parseResultBlob(bytes)) };
}

async function readManifest(sha256: string, tenantId: string, blobs: Blobs): Promise<Uint8Array | null> {
  try {
    const size = await blobs.size(tenantId, sha256);
    return size === null || size > MANIFEST_BYTES_MAX ? null : await blobs.get(tenantId, sha256);
  } catch (error) {
    if (error instanceof StoreUnavailable) return null;
    throw error;
  }
}

const FILES_LISTED_MAX = 100;

function candidateFilesOf(data: unknown): Pick<PendingReview, 'files' | 'file_count'> {
  const parsed = isFilesResult(data) ? parseManifest(data) : null;
  if (!parsed?.ok) return { files: null, file_count: 0 };
  const { files } = parsed.manifest;
  const listed = files.slice(0, FILES_LISTED_MAX);
  return {
    files: listed.map(({ path, sha256, size_bytes, base_sha256 }) => ({
      path,
      sha256,
      size_bytes,
      base_sha256,
    })),
    file_count: files.length,
  };
}

/** Compares the files of a candidate with those it was made from, as far as both are stored as blobs. */
export function storedDiffs({ files }: PendingReview, tenantId: string, blobs: Blobs): Promise<FileDiff[]> {
  const comparedFiles = (files ?? []).map(({ path, sha256, base_sha256 }) => ({
    path,
    readBefore: () => (base_sha256 === null ? 'missing' : readFileBlob(base_sha256, tenantId, blobs)),
    readAfter: () => readFileBlob(sha256, tenantId, blobs),
  }));
  return diffFiles(comparedFiles);
}

async function readFileBlob(sha256: string, tenantId: string, blobs: Blobs): Promise<ComparedContent> {
  try {
    const size = await blobs.size(tenantId, sha256);
    if (size !== null && size > DIFF_FILE_BYTES_MAX) return 'too_large';
    const bytes = size === null ? null : await blobs.get(tenantId, sha256);
    return bytes === null ? 'unknown' : Buffer.from(bytes);
  } catch (error) {
    if (error instanceof StoreUnavailable) return 'unknown';
    throw error;
  }
}

function humanChecks(view: DecisionView, subject: string): PendingReview['human_checks'] {
  const { checks = [] } = edgeDetailsOf(view, subject);
  return checks.filter(({ type }) => type === 'human').map(({ name, criterion }) => ({ name, criterion }));
}

function escalationText({ signals }: MethodologyState, featureId: string | null, edge: string | null) {
  if (featureId === null) return null;
  const escalation = [...signals.values()].find(
    (signal) => signal.kind === 'escalation' && signal.feature_id === featureId && signal.edge === edge,
  );
  return escalation?.says ?? null;
}
