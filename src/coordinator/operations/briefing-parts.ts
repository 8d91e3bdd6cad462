import { claimEventKindOf } from '../../core/claims/claim-event-kinds.js';
import type { Briefing } from '../../core/contract/briefing.js';
import type { FailingCheck } from '../../core/contract/checks.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { FAILED_RESULTS } from '../../core/methodology/progress/evolve-iteration.js';
import { acceptedResult, lineageOf, resultsOf } from '../../core/views/index.js';
import type { ProjectKey } from '../../stores/store.js';

/** A result up to this size is included in the briefing. */
const INLINE_RESULT_BYTES_MAX = 1024;
const DEPENDENCY_NOTES_MAX = 3;
const FAILED_CHECKS_MAX = 50;

type Dependency = Briefing['dependencies'][number];

/** The accepted result of a dependency, or the call that reads a large one, and the last notes on the dependency. */
export function dependencyBriefing(
  { tenant_id, project_id }: ProjectKey,
  subject: string,
  events: readonly EventEnvelope[],
): Pick<Dependency, 'result' | 'read' | 'notes'> {
  const notes = notesFrom(events).slice(-DEPENDENCY_NOTES_MAX);
  const noteFields = notes.length === 0 ? {} : { notes };
  const accepted = acceptedResult(resultsOf(events));
  if (accepted === undefined) return noteFields;
  const isInline =
    accepted.blob_sha256 === null &&
    Buffer.byteLength(JSON.stringify(accepted.result_data ?? null)) <= INLINE_RESULT_BYTES_MAX;
  if (isInline) return { result: accepted.result_data, ...noteFields };
  const names = [tenant_id, project_id, subject, accepted.id].map(encodeURIComponent);
  const [tenant, project, task, result] = names;
  return {
    read: `GET /api/tenants/${tenant}/projects/${project}/tasks/${task}/results/${result}`,
    ...noteFields,
  };
}

export const notesFrom = (events: readonly EventEnvelope[]): Briefing['notes'] =>
  events
    .filter((event) => claimEventKindOf(event.event_type) === 'noted' && event.payload.text !== undefined)
    .map((event) => ({
      at: event.timestamp,
      agent_id: event.agent_id,
      generation: event.generation ?? 0,
      text: String(event.payload.text),
    }));

/** The checks that the last reported iteration failed, and the last review, unless it was an approval. */
export function lastFailure(events: readonly EventEnvelope[]): Pick<Briefing, 'failed' | 'review'> {
  const reported = events.findLast(({ payload }) => Array.isArray(detailsIn(payload)));
  const failed = ((reported === undefined ? [] : detailsIn(reported.payload)) as unknown[]).flatMap(
    failedCheck,
  );
  const review = lineageOf('', events).reviews.at(-1);
  return {
    ...(failed.length === 0 ? {} : { failed: failed.slice(0, FAILED_CHECKS_MAX) }),
    ...(review === undefined || review.decision === 'APPROVED' ? {} : { review }),
  };
}

const detailsIn = ({ evaluators }: EventEnvelope['payload']): unknown =>
  typeof evaluators === 'object' && evaluators !== null
    ? (evaluators as { details?: unknown }).details
    : undefined;

function failedCheck(detail: unknown): FailingCheck[] {
  if (typeof detail !== 'object' || detail === null) return [];
  const { name, result, says = '' } = detail as Readonly<Record<string, unknown>>;
  return typeof name === 'string' && FAILED_RESULTS.has(result) ? [{ name, says: String(says) }] : [];
}
