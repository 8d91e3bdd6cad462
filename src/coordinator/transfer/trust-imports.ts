import type { TrustImportsBody, TrustResult } from '../../core/contract/events.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import { isImported } from '../../core/events/known-event.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import {
  type ImportedConvergence,
  importedConvergences,
} from '../../core/methodology/progress/imported-convergence.js';
import type { SliceableWork } from '../../core/sliceable-work.js';
import { subjectKindOf } from '../../core/subject.js';
import { actorOf, type Caller } from '../authentication/caller.js';
import { eventsAt } from '../queue/load-work-state.js';
import type { Project } from '../queue/project.js';
import { runInSlices } from '../runtime/run-in-slices.js';
import { type AsyncReply, isProblem, type Problem } from '../wire/problem.js';
import {
  adoptedGeneration,
  adoptImportOperation,
  adoptionRefusal,
  type SkippedImport,
  type TrustedImport,
} from './adopt-import.js';

/** Maximum number of edges that one call trusts. */
export const TRUSTED_MAX = 500;
/** Maximum number of skipped edges that a reply lists: an imported log may name any number. */
export const SKIPPED_MAX = 100;
/** Maximum number of events read at the same time. */
const PARALLEL_READS_MAX = 25;

/** What one call selects: the edges to trust, and what it reports about the others. */
interface Selection {
  readonly chosen: ImportedConvergence[];
  readonly skipped: SkippedImport[];
  skipped_count: number;
  hasMore: boolean;
}

/**
 * Adopts the edges that converged according to imported logs and were never claimed here, each edge in its own commit.
 * Of an adoption and a claim at the same moment, the first commit wins.
 */
export async function trustImports(
  project: Project,
  state: MethodologyState,
  body: TrustImportsBody,
  caller: Caller,
): AsyncReply<TrustResult> {
  const alreadyTrusted = trustedByRequest(project, body, caller);
  const chosenMax = TRUSTED_MAX - alreadyTrusted.length;
  const selection = await runInSlices(selectConvergences(project, state, chosenMax), project.environment);
  const { chosen, skipped, hasMore: more } = selection;
  if (body.dry_run === true) {
    const generationOf = adoptedGeneration(project.view());
    const trusted = chosen.map(({ subject }) => ({ task_id: subject, generation: generationOf(subject) }));
    return { trusted, skipped, skipped_count: selection.skipped_count, more };
  }
  const trusted: TrustedImport[] = [...alreadyTrusted];
  for (const reply of await adoptAll(project, chosen, body, caller)) {
    // A repeated request finds the edges that were trusted before this problem.
    if (isProblem(reply)) return reply;
    if ('generation' in reply) trusted.push(reply);
    else addSkipped(selection, reply);
  }
  return { trusted, skipped, skipped_count: selection.skipped_count, more };
}

/** The edges that an earlier call with the same request id has trusted. The reply to that call may be lost. */
function trustedByRequest(
  { state }: Project,
  { request_id }: TrustImportsBody,
  caller: Caller,
): TrustedImport[] {
  if (request_id === undefined) return [];
  const by = actorOf(caller);
  const trusted: TrustedImport[] = [];
  for (const { subject, generation, phase, claim } of state.heads.values()) {
    if (phase !== 'COMPLETED' || claim?.request_id !== request_id || trusted.length === TRUSTED_MAX) continue;
    const isOwn = claim.agent_id === by && claim.session_id === by;
    if (isOwn && subjectKindOf(subject) === 'edge') trusted.push({ task_id: subject, generation });
  }
  return trusted;
}

function* selectConvergences(
  project: Project,
  state: MethodologyState,
  chosenMax: number,
): SliceableWork<Selection> {
  const selection: Selection = { chosen: [], skipped: [], skipped_count: 0, hasMore: false };
  for (const convergence of importedConvergences(state)) {
    const refusal = adoptionRefusal(project.view(), convergence.subject);
    if (refusal !== null) addSkipped(selection, { task_id: convergence.subject, ...refusal });
    else if (selection.chosen.length < chosenMax) selection.chosen.push(convergence);
    else selection.hasMore = true;
    yield;
  }
  return selection;
}

function addSkipped(selection: Selection, edge: SkippedImport): void {
  selection.skipped_count += 1;
  if (selection.skipped.length < SKIPPED_MAX) selection.skipped.push(edge);
}

async function adoptAll(
  project: Project,
  chosen: readonly ImportedConvergence[],
  body: TrustImportsBody,
  caller: Caller,
): Promise<(TrustedImport | SkippedImport | Problem)[]> {
  const replies: (TrustedImport | SkippedImport | Problem)[] = [];
  for (let at = 0; at < chosen.length; at += PARALLEL_READS_MAX) {
    const adoptions = chosen.slice(at, at + PARALLEL_READS_MAX).map(async (convergence) => {
      const event = await eventOf(project, convergence);
      return project.run(adoptImportOperation(convergence.subject, event, body, caller), caller);
    });
    replies.push(...(await Promise.all(adoptions)));
  }
  return replies;
}

/** The imported event; null if it is not in the log, for example because a backup was restored. */
async function eventOf(project: Project, { position }: ImportedConvergence): Promise<EventEnvelope | null> {
  const [event] = await eventsAt(project, [position]);
  return event === undefined || !isImported(event.payload) ? null : event;
}
