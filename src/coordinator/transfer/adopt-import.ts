import { decide } from '../../core/claims/decide.js';
import { nextGeneration } from '../../core/claims/generation.js';
import { adviceFor } from '../../core/contract/codes.js';
import type { TrustImportsBody, TrustResult } from '../../core/contract/events.js';
import type { AdoptedFrom } from '../../core/events/claim-payload-schemas.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { withoutUndefined } from '../../core/without-undefined.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { unknownEdgeText } from '../operations/edge-facts.js';
import { buildInlineResult } from '../operations/results.js';
import { operationOf } from '../operations/shared.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Operation } from '../queue/operation.js';

export type TrustedImport = TrustResult['trusted'][number];
export type SkippedImport = TrustResult['skipped'][number];

/** Maximum length of the name of an imported log. A longer name is omitted, because only people read it. */
const SOURCE_CHARS_MAX = 256;

/**
 * The refusal with which an edge is skipped; null if its import can be trusted. An imported log may name edges that do not
 * exist here.
 */
export function adoptionRefusal(view: DecisionView, subject: string): Omit<SkippedImport, 'task_id'> | null {
  if (view.methodology === null) return { reason: 'NOT_INITIALISED', next: adviceFor('NOT_INITIALISED') };
  const unknownText = unknownEdgeText(view, subject);
  if (unknownText !== null) return { reason: 'UNKNOWN_TASK', next: unknownText };
  const { phase, generation, hold } = view.peekHead(subject);
  if (phase === 'COMPLETED')
    return { reason: 'DENIED_COMPLETED', next: `${subject} has an accepted result. There is nothing to do.` };
  if (generation === 0) return hold === null ? null : onHoldRefusal(subject, hold.reason);
  const next = `${subject} was claimed here (generation ${generation}), so an import no longer decides it. Claim it and submit a result.`;
  return { reason: 'GENERATION_MISMATCH', next };
}

/** An operator has stopped the work on an edge on hold, so the hold must be lifted first. */
const onHoldRefusal = (subject: string, reason: string): Omit<SkippedImport, 'task_id'> => ({
  reason: 'DENIED_HELD',
  next: `${subject} is on hold: ${reason}. Lift the hold, then trust imports again: ${genCommand('task', 'unhold', subject, '--reason', 'TEXT')}`,
});

/** The generation under which an edge that was never claimed is adopted. */
export const adoptedGeneration =
  (view: DecisionView) =>
  (subject: string): number =>
    nextGeneration(0, view.rulesOf(subject));

/** Adopts the convergence that an imported event reports. No check of the edge is evaluated: an admin decides. */
export function adoptImportOperation(
  subject: string,
  event: EventEnvelope | null,
  { reason, request_id }: TrustImportsBody,
  caller: Caller,
): Operation<TrustedImport | SkippedImport> {
  const by = actorOf(caller);
  return operationOf<TrustedImport | SkippedImport>(
    'trust_imports',
    // The heads show which edges a request has trusted, so the request itself is not stored.
    null,
    (transaction) => {
      const { view } = transaction;
      const head = view.head(subject);
      const refusal = adoptionRefusal(view, subject);
      if (refusal !== null) {
        transaction.checkHead(subject);
        return { task_id: subject, ...refusal };
      }
      const generation = adoptedGeneration(view)(subject);
      const decision = decide(
        head,
        {
          type: 'adopt',
          expected_generation: 0,
          reason,
          by,
          session_id: by,
          request_id: request_id ?? null,
          adopted: event === null ? null : adoptionOf(event, subject, generation, by),
        },
        view.decisionContext(subject),
      );
      transaction.addDecision(decision);
      if (decision.ok) return { task_id: subject, generation };
      const next = `The imported event that reports the convergence of ${subject} is not in the log. Import the log again.`;
      return { task_id: subject, reason: 'UNKNOWN_RESULT', next };
    },
    request_id,
  );
}

/** The result of an adopted edge. Its only content is the imported event on which it is based. */
function adoptionOf(event: EventEnvelope, subject: string, generation: number, session_id: string) {
  const { event_id, event_type, position, agent_id, timestamp, payload } = event;
  const from: AdoptedFrom = withoutUndefined({
    imported: true as const,
    event_id,
    position,
    agent_id,
    source: sourceOf(payload),
  });
  const { imported: _, ...origin } = from;
  const result_data = { imported: { ...origin, event_type, converged_at: timestamp } };
  return { from, result: buildInlineResult({ result_data, generation, session_id }, subject) };
}

/** The name of the imported log; undefined if it is no usable name, because any client may have written the event. */
function sourceOf({ imported }: EventEnvelope['payload']): string | undefined {
  const { source } = imported as { source?: unknown };
  const isName = typeof source === 'string' && source !== '' && source.length <= SOURCE_CHARS_MAX;
  return isName ? source : undefined;
}
