import type { Head } from '../../core/claims/head.js';
import type { PendingReview } from '../../core/contract/methodology.js';
import { isoTime } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { isFilesResult, parseManifest } from '../../core/methodology/definition/manifest.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import { subjectKeys } from '../../core/subject.js';
import { edgeDetailsOf } from '../queries/tasks.js';
import type { DecisionView } from '../queue/decision-view.js';

/** Candidates that wait for a human, longest wait first. */
export function pendingReviews(view: DecisionView, state: MethodologyState): PendingReview[] {
  const waiting: PendingReview[] = [];
  for (const subject of view.state.live) {
    const review = pendingReviewOf(view, state, subject);
    if (review !== null) waiting.push(review);
  }
  return waiting.sort((a, b) =>
    a.since === b.since ? compare(a.task_id, b.task_id) : compare(a.since, b.since),
  );
}

/** Null if nothing of the subject waits for a human. */
export function pendingReviewOf(
  view: DecisionView,
  state: MethodologyState,
  subject: string,
): PendingReview | null {
  const head = view.state.heads.get(subject);
  return head === undefined ? null : reviewOf(head, view, state);
}

const compare = (a: string, b: string): number => (a < b ? -1 : 1);

function reviewOf(head: Head, view: DecisionView, state: MethodologyState): PendingReview | null {
  const { subject, generation, claim, gate } = head;
  if (claim?.state !== 'SUSPENDED' || gate === null) return null;
  if (gate.decision !== null || gate.generation !== generation) return null;
  const { feature_id = null, edge = null } = subjectKeys(subject);
  const edgeState = feature_id === null ? undefined : state.features.get(feature_id)?.edges.get(edge ?? '');
  const { suspended_until_ms, agent_id, agent_role } = claim;
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
      escalationReasonOf(state, feature_id, edge) ??
      edgeState?.escalation ??
      `${agent_id} requested a decision before continuing`,
    since: isoTime(head.last_at_ms),
    deadline: suspended_until_ms === null ? null : isoTime(suspended_until_ms),
    evaluators: evaluators === undefined ? (edgeState?.evaluators ?? null) : { ...evaluators },
    ...candidateFilesOf(gate.candidate?.data),
    human_checks: humanChecks(view, subject),
    next: genCommand(
      'review',
      ...(feature_id === null ? [subject] : ['--feature', feature_id, '--edge', edge ?? '']),
    ),
  };
}

const FILES_LISTED_MAX = 100;

function candidateFilesOf(data: unknown): Pick<PendingReview, 'files' | 'file_count'> {
  const read = isFilesResult(data) ? parseManifest(data) : null;
  if (!read?.ok) return { files: null, file_count: 0 };
  const { files } = read.manifest;
  const listed = files.slice(0, FILES_LISTED_MAX);
  return {
    files: listed.map(({ path, sha256, size_bytes }) => ({ path, sha256, size_bytes })),
    file_count: files.length,
  };
}

function humanChecks(view: DecisionView, subject: string): PendingReview['human_checks'] {
  const { checks = [] } = edgeDetailsOf(view, subject);
  return checks.filter(({ type }) => type === 'human').map(({ name, criterion }) => ({ name, criterion }));
}

function escalationReasonOf({ signals }: MethodologyState, featureId: string | null, edge: string | null) {
  if (featureId === null) return null;
  const escalation = [...signals.values()].find(
    (signal) => signal.kind === 'escalation' && signal.feature_id === featureId && signal.edge === edge,
  );
  return escalation?.says ?? null;
}
