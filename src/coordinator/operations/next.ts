import type { NextBody } from '../../core/contract/claim-bodies.js';
import type { ClaimResult } from '../../core/contract/claim-replies.js';
import type { EventEnvelope } from '../../core/events/envelope.js';
import type { MethodologyState } from '../../core/methodology/progress/feature-state.js';
import { type EdgeQueue, edgeQueue } from '../../core/methodology/routing/edge-queue.js';
import type { Frontier } from '../../core/views/frontier.js';
import type { Caller } from '../authentication/caller.js';
import { viewInputOf } from '../methodology/view-input.js';
import type { DecisionView } from '../queue/decision-view.js';
import type { Attempt, NeedsFetch, Operation } from '../queue/operation.js';
import type { Project } from '../queue/project.js';
import { TransactionBuilder } from '../queue/transaction-builder.js';
import type { Problem } from '../wire/problem.js';
import { attemptClaim, replayClaim } from './claim.js';
import { isSessionClosed } from './facts.js';
import { nothingReadyResult } from './nothing-ready.js';
import { readyWork } from './ready.js';
import { refusedClaimResult } from './render.js';
import { claimsOfSession } from './session-claims.js';
import { type RequestFields, requestKeyOf } from './shared.js';

interface NextContext {
  readonly caller: Caller;
  readonly project: Pick<Project, 'refresh' | 'rebuildFrontier'>;
  /** Aborted when the caller has disconnected. */
  readonly signal: AbortSignal | undefined;
  /** Reads the state that orders the edges. Later events update the same object. */
  readonly readMethodology: () => Promise<MethodologyState>;
}

/** Whether edges are requested. A track has only tasks. */
export const wantsEdges = ({ kinds, track }: Pick<NextBody, 'kinds' | 'track'>): boolean =>
  track === undefined && (kinds ?? []).includes('edge');
const wantsTasks = ({ kinds = ['task'], track }: Pick<NextBody, 'kinds' | 'track'>): boolean =>
  track !== undefined || kinds.includes('task');

/** Chooses and claims the best ready work in one step, so that concurrent callers get different work. */
export class NextOperation implements Operation<ClaimResult | Problem> {
  readonly kind = 'next';
  readonly requestKey;
  private hasRefreshed = false;
  /** The frontier, and its version that includes the plan as of the request. */
  private required: { readonly frontier: Frontier; readonly version: number } | null = null;
  private methodologyState: MethodologyState | null = null;
  /** Subjects refused during this operation. Others may still be available. */
  private readonly refusedSubjects = new Set<string>();
  private readonly fullTracks = new Set<string>();
  private lastTrack = '';

  constructor(
    private readonly body: Omit<NextBody, 'wait_seconds'> & Omit<RequestFields, 'offline'>,
    private readonly context: NextContext,
  ) {
    this.requestKey = requestKeyOf(context.caller, 'next', body);
  }

  attempt(view: DecisionView): Attempt<ClaimResult | Problem> | NeedsFetch {
    const { signal } = this.context;
    // Work that is granted to a disconnected client is unavailable to others for a whole lease.
    if (signal?.aborted) return new TransactionBuilder(view).answer(null, this.nothingReady(view, null));
    const missing = this.fetchMissingState(view);
    if (missing !== null) return missing;
    // Another coordinator may have granted work to the session a moment ago.
    if (this.body.resume === true && view.hasOtherWriters && !this.hasRefreshed)
      return { needs: () => this.refreshAndReset() };
    if (view.reachedLimit === 'max_agents_per_track') {
      // Only this track is full: continue with the others.
      this.fullTracks.add(this.lastTrack);
      view.reachedLimit = null;
    }
    const edges = this.edgeQueue(view);
    for (const subject of this.candidates(view, edges)) {
      const attempt = this.tryClaim(view, subject);
      if (attempt !== null) return attempt;
    }
    // The view may lag behind other coordinators: refresh once before replying that nothing is ready.
    if (!this.hasRefreshed) return { needs: () => this.refreshAndReset() };
    const reply = isSessionClosed(view, this.body.session_id)
      ? refusedClaimResult('SESSION_CLOSED')
      : this.nothingReady(view, edges);
    return new TransactionBuilder(view).answer(this.requestKey, reply);
  }

  replay(events: readonly EventEnvelope[], view: DecisionView): ClaimResult {
    return replayClaim(events, view);
  }

  private fetchMissingState(view: DecisionView): NeedsFetch | null {
    const { frontier, plan } = view.state;
    // After a failed write the state is loaded again, and the versions of its new frontier begin again.
    if (this.required?.frontier !== frontier)
      this.required = { frontier, version: frontier.currentVersion(plan) };
    if (frontier.rebuiltVersion < this.required.version)
      return { needs: () => this.context.project.rebuildFrontier() };
    if (this.methodologyState !== null || !this.shouldRouteEdges(view)) return null;
    return { needs: () => this.readMethodology() };
  }

  private shouldRouteEdges = (view: DecisionView): boolean =>
    wantsEdges(this.body) && view.methodology !== null;

  private edgeQueue(view: DecisionView): EdgeQueue | null {
    if (this.methodologyState === null || !this.shouldRouteEdges(view)) return null;
    const { agent_id, agent_role = null } = this.body;
    const input = viewInputOf(view.state, this.methodologyState, view);
    return edgeQueue({ ...input, request: { agent_id } }, agent_role);
  }

  /** The work that the session already holds, if it resumes, then tasks and edges by priority. */
  private *candidates(view: DecisionView, edges: EdgeQueue | null): Generator<string> {
    const { agent_id, session_id, track, resume } = this.body;
    if (resume === true) for (const { subject } of claimsOfSession(view, session_id, 'ACTIVE')) yield subject;
    const tasks = wantsTasks(this.body) ? readyWork(view, agent_id, track) : [];
    const remainingEdges = [...(edges?.ready ?? [])];
    for (const id of tasks) {
      const priority = view.state.plan.get(id)?.task.priority ?? 0;
      while ((remainingEdges[0]?.priority ?? Number.NEGATIVE_INFINITY) > priority)
        yield remainingEdges.shift()?.subject ?? '';
      yield id;
    }
    for (const { subject } of remainingEdges) yield subject;
  }

  /** Tries to claim a subject. Null if the claim is refused, but other work may still be granted. */
  private tryClaim(view: DecisionView, subject: string): Attempt<ClaimResult | Problem> | NeedsFetch | null {
    const { track: _, kinds: __, ...claim } = this.body;
    if (this.refusedSubjects.has(subject) || this.fullTracks.has(trackOf(view, subject))) return null;
    this.lastTrack = trackOf(view, subject);
    const attempt = attemptClaim(view, { subject, body: claim }, this.context.caller, null);
    if ('needs' in attempt) return attempt;
    const isGranted = 'success' in attempt.reply && attempt.reply.success;
    if (isGranted || isFinal(attempt.reply)) {
      const requests =
        this.requestKey === null ? [] : [{ ...this.requestKey, keep: attempt.transaction.swaps.length > 0 }];
      return { reply: attempt.reply, transaction: { ...attempt.transaction, requests } };
    }
    this.refusedSubjects.add(subject);
    return null;
  }

  private nothingReady(view: DecisionView, edges: EdgeQueue | null): ClaimResult {
    const { track, session_id } = this.body;
    return nothingReadyResult(view, { track, session_id, wantsTasks: wantsTasks(this.body), edges });
  }

  private async readMethodology(): Promise<void> {
    this.methodologyState = await this.context.readMethodology();
  }

  private async refreshAndReset(): Promise<void> {
    await this.context.project.refresh();
    if (this.methodologyState !== null) await this.readMethodology();
    this.hasRefreshed = true;
    this.required = null;
    this.refusedSubjects.clear();
    this.fullTracks.clear();
  }
}

const trackOf = (view: DecisionView, subject: string): string =>
  view.state.plan.get(subject)?.task.track ?? '';

/** Whether the reply is a refusal that every other subject would get too. */
const isFinal = (reply: ClaimResult | Problem): boolean =>
  'problem' in reply || reply.reason === 'SESSION_CLOSED' || reply.reason === 'DENIED_LIMIT';
