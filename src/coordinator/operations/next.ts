import type { ClaimResult, NextBody } from '../../core/contract/claims.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Caller } from '../authentication/caller.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, NeedsFetch, Operation } from '../queue/operation.js';
import type { Project } from '../queue/project.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Problem } from '../wire/problem.js';
import { attemptClaim, replayClaim } from './claim.js';
import { isSessionClosed, openDependencies } from './facts.js';
import { readyWork } from './ready.js';
import { deniedClaimResult } from './render.js';
import { requestKeyOf } from './shared.js';

const BLOCKERS_LISTED_MAX = 20;

/** Chooses and claims the best ready work in one step, so that concurrent callers get different tasks. */
export class NextOperation implements Operation<ClaimResult | Problem> {
  readonly kind = 'next';
  readonly request;
  private hasRefreshed = false;
  /** The frontier version this operation needs: it includes the plan as of the request. */
  private requiredRebuildVersion: number | null = null;
  /** Subjects denied during this operation. Others may still be available. */
  private readonly deniedSubjects = new Set<string>();
  private readonly fullTracks = new Set<string>();
  private lastTrack = '';

  constructor(
    private readonly body: Omit<NextBody, 'wait_seconds'>,
    private readonly caller: Caller,
    private readonly project: Pick<Project, 'refresh' | 'rebuildFrontier'>,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.request = requestKeyOf(caller, 'next', body);
  }

  attempt(view: DecisionView): Attempt<ClaimResult | Problem> | NeedsFetch {
    const { track, ...claim } = this.body;
    // Work granted to nobody is lost for a whole lease.
    if (this.signal?.aborted)
      return new TransactionBuilder(view).answer(null, nothingReadyResult(view, track));
    const { frontier, plan } = view.state;
    this.requiredRebuildVersion ??= frontier.currentVersion(plan);
    if (frontier.rebuiltVersion < this.requiredRebuildVersion)
      return { needs: () => this.project.rebuildFrontier() };
    if (view.exhaustedLimit === 'max_agents_per_track') {
      // Only this track is full: continue with the others.
      this.fullTracks.add(this.lastTrack);
      view.exhaustedLimit = null;
    }
    for (const subject of readyWork(view, this.body.agent_id, track)) {
      if (this.deniedSubjects.has(subject) || this.fullTracks.has(trackOf(view, subject))) continue;
      this.lastTrack = trackOf(view, subject);
      const attempt = attemptClaim(view, { subject, body: claim }, this.caller, null);
      const granted = 'success' in attempt.reply && attempt.reply.success;
      if (granted || isFinal(attempt.reply)) {
        const requests = this.request === null ? [] : [{ ...this.request, keep: granted }];
        return { reply: attempt.reply, transaction: { ...attempt.transaction, requests } };
      }
      this.deniedSubjects.add(subject);
    }
    // The view may lag behind other coordinators: refresh once before replying that nothing is ready.
    if (!this.hasRefreshed) return { needs: () => this.refreshAndReset() };
    const reply = isSessionClosed(view, this.body.session_id)
      ? deniedClaimResult('SESSION_CLOSED')
      : nothingReadyResult(view, track);
    return new TransactionBuilder(view).answer(this.request, reply);
  }

  replay(events: readonly EventEnvelope[], view: DecisionView): ClaimResult {
    return replayClaim(events, view);
  }

  private async refreshAndReset(): Promise<void> {
    await this.project.refresh();
    this.hasRefreshed = true;
    this.requiredRebuildVersion = null;
    this.deniedSubjects.clear();
    this.fullTracks.clear();
  }
}

const trackOf = (view: DecisionView, subject: string): string =>
  view.state.plan.get(subject)?.task.track ?? '';

/** Denials that every other task would get too. */
const isFinal = (reply: ClaimResult | Problem): boolean =>
  'problem' in reply || reply.reason === 'SESSION_CLOSED' || reply.reason === 'DENIED_LIMIT';

/** Lists what to wait for; if nothing could become ready, says that nothing is left. */
function nothingReadyResult(view: DecisionView, track: string | undefined): ClaimResult {
  const waiting_for = blockingSubjects(view, track);
  const refused = { ...deniedClaimResult('NOTHING_READY'), waiting_for };
  if (waiting_for.length > 0) return refused;
  const { plan } = view.state;
  const where = track === undefined ? 'the plan' : `track ${track}`;
  const isEmpty = track === undefined ? plan.task_count === 0 : plan.tasksOf(track).length === 0;
  const next = isEmpty
    ? `There is no task in ${where}. Do not wait: add one first (gen task add).`
    : `Every task in ${where} is completed. Do not wait.`;
  return { ...refused, next };
}

/** What the rest of the plan waits for: claimed work, and startable work that cannot be claimed now, such as held tasks. */
function blockingSubjects(view: DecisionView, track: string | undefined): string[] {
  const { plan, live, frontier } = view.state;
  const startableSubjects = function* (): Generator<string> {
    for (const subject of live) if (plan.has(subject)) yield subject;
    for (const ranks of frontier.byTrack.values()) for (const { id } of ranks) if (plan.has(id)) yield id;
  };
  const blockers = new Set<string>();
  if (track === undefined) for (const subject of startableSubjects()) blockers.add(subject);
  else
    for (const { id } of plan.tasksOf(track))
      for (const subject of blockersOf(view, id)) blockers.add(subject);
  return [...blockers].sort().slice(0, BLOCKERS_LISTED_MAX);
}

/** What keeps a task from completion: its open dependencies, or itself if it has none. */
function blockersOf(view: DecisionView, id: string): readonly string[] {
  const head = view.peekHead(id);
  if (head.phase === 'COMPLETED') return [];
  const openDependencyIds = openDependencies(view, id);
  return openDependencyIds.length === 0 ? [id] : openDependencyIds;
}
