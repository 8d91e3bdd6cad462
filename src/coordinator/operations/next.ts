import type { EventEnvelope } from '../../core/events/envelope.js';
import type { Caller } from '../caller.js';
import type { Desk } from '../desk.js';
import { isSessionClosed, openDependencies } from '../facts.js';
import type { Attempt, Needs, Operation } from '../operation.js';
import type { Problem } from '../problem.js';
import type { Project } from '../project.js';
import { readyWork } from '../ready.js';
import { refusedClaim } from '../render.js';
import { UnitBuilder } from '../unit-builder.js';
import type { ClaimResult, NextBody } from '../wire.js';
import { attemptClaim, replayedClaim } from './claim.js';
import { requestOf } from './shared.js';

const WAITS_NAMED_MAX = 20;

/** The best ready work, chosen and claimed in one step, so that two who ask at once get two pieces. */
export class NextOperation implements Operation<ClaimResult | Problem> {
  readonly kind = 'next';
  readonly request;
  private followed = false;
  /** The survey of the work that this operation needs: one that knows the plan as it was when it asked. */
  private version: number | null = null;
  /** What was refused us while we asked: another may still be free. */
  private readonly passedOver = new Set<string>();
  private readonly fullTracks = new Set<string>();
  private trackTried = '';

  constructor(
    private readonly body: Omit<NextBody, 'wait_seconds'>,
    private readonly caller: Caller,
    private readonly project: Pick<Project, 'follow' | 'survey'>,
  ) {
    this.request = requestOf(caller, 'next', body);
  }

  attempt(desk: Desk): Attempt<ClaimResult | Problem> | Needs {
    const { track, ...claim } = this.body;
    const { frontier, plan } = desk.state;
    this.version ??= frontier.version(plan);
    if (frontier.surveyed < this.version) return { needs: () => this.project.survey() };
    if (desk.full === 'max_agents_per_track') {
      // That track is full, not every track: the search goes on in the others.
      this.fullTracks.add(this.trackTried);
      desk.full = null;
    }
    for (const subject of readyWork(desk, this.body.agent_id, track)) {
      if (this.passedOver.has(subject) || this.fullTracks.has(trackOf(desk, subject))) continue;
      this.trackTried = trackOf(desk, subject);
      const attempt = attemptClaim(desk, { subject, body: claim }, this.caller, null);
      const granted = 'success' in attempt.reply && attempt.reply.success;
      if (granted || isFinal(attempt.reply)) {
        return { reply: attempt.reply, unit: { ...attempt.unit, requests: this.remember(granted) } };
      }
      this.passedOver.add(subject);
    }
    // The view may be behind what others have finished: look once before saying that there is nothing.
    if (!this.followed) return { needs: () => this.lookAgain() };
    const reply = isSessionClosed(desk, this.body.session_id)
      ? refusedClaim('SESSION_CLOSED')
      : nothingReady(desk, track);
    return { unit: new UnitBuilder(desk).build(this.request), reply };
  }

  replay(events: readonly EventEnvelope[], desk: Desk): ClaimResult {
    return replayedClaim(events, desk);
  }

  private remember(keep: boolean) {
    return this.request === null ? [] : [{ ...this.request, keep }];
  }

  private async lookAgain(): Promise<void> {
    await this.project.follow();
    this.followed = true;
    this.version = null;
    this.passedOver.clear();
    this.fullTracks.clear();
  }
}

const trackOf = (desk: Desk, subject: string): string => desk.state.plan.get(subject)?.task.track ?? '';

/** Refusals that no other task would change. */
const isFinal = (reply: ClaimResult | Problem): boolean =>
  'problem' in reply || reply.reason === 'SESSION_CLOSED' || reply.reason === 'DENIED_LIMIT';

/** Who is to wait hears for what; who would wait for ever hears that nothing is left. */
function nothingReady(desk: Desk, track: string | undefined): ClaimResult {
  const waiting_for = everythingWaitsFor(desk, track);
  const refused = { ...refusedClaim('NOTHING_READY'), waiting_for };
  if (waiting_for.length > 0) return refused;
  const { plan } = desk.state;
  const where = track === undefined ? 'the plan' : `track ${track}`;
  const is_empty = track === undefined ? plan.task_count === 0 : plan.tasksOf(track).length === 0;
  const next = is_empty
    ? `There is no task in ${where}: there is nothing to wait for until somebody adds one.`
    : `Nothing is left to do in ${where}: every task is completed. Do not wait.`;
  return { ...refused, next };
}

/** The work under way and the held work that the rest of the plan waits for. */
function everythingWaitsFor(desk: Desk, track: string | undefined): string[] {
  const { plan, live, frontier } = desk.state;
  const begins = function* (): Generator<string> {
    for (const subject of live) if (plan.has(subject)) yield subject;
    for (const ranks of frontier.byTrack.values()) for (const { id } of ranks) if (plan.has(id)) yield id;
  };
  const named = new Set<string>();
  if (track === undefined) for (const subject of begins()) named.add(subject);
  else
    for (const { id } of plan.tasksOf(track)) for (const subject of waitsHere(desk, id)) named.add(subject);
  return [...named].sort().slice(0, WAITS_NAMED_MAX);
}

/** What keeps a task from being done: itself, where somebody is at it or it is held; else what it waits for. */
function waitsHere(desk: Desk, id: string): readonly string[] {
  const head = desk.glimpse(id);
  if (head.phase === 'COMPLETED') return [];
  const waits = openDependencies(desk, id);
  return waits.length === 0 ? [id] : waits;
}
