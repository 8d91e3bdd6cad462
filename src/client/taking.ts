import type { NextAsked } from './asked.js';
import { newRequestId } from './http.js';
import { monotonicMs } from './lease-cell.js';
import type { LeaseProposals } from './lease-proposals.js';
import type { Hold } from './renewals.js';
import {
  type ClaimRefused,
  GenesisError,
  isPassing,
  isProblem,
  type LeasedClaim,
  type Problem,
} from './replies.js';
import type { Tools, Work, WorkOptions } from './work-options.js';

interface WorkRequest {
  readonly asked: NextAsked;
  /** When it was made for the first time. */
  readonly sent_ms: number;
}

export interface Grant {
  readonly work: Work;
  readonly track: string | undefined;
  readonly hold: Hold;
}

/** How long a poll waits: a stop is heard after at most so long, and no grant is ever left unheard. */
const WAIT_SECONDS = 5;
const WAIT_SECONDS_TRACKS = 1;
/** A grant that took longer to come than this part of its lease is renewed at once, to know its end. */
const LONG_AGO = 0.1;

/** `nothing`: there is none now. `later`: ask again in a while. `done`: there will be none. */
export type Taken = Grant | 'nothing' | 'later' | 'done';

/** Asks for work, and asks again what was not answered: it may have been granted. */
export class Taking {
  private readonly unanswered: WorkRequest[] = [];
  private turn = 0;

  constructor(
    private readonly tools: Tools,
    private readonly options: WorkOptions,
    private readonly who: { readonly agent_id: string; readonly session_id: string },
    private readonly proposals: LeaseProposals,
  ) {}

  async take(waits: boolean): Promise<Taken> {
    const request = this.unanswered.pop() ?? (await this.newRequest(waits));
    const reply = await this.tools.calls.next(request.asked);
    if (isProblem(reply)) return this.noWork(reply, request);
    if (!reply.success) return this.refused(reply);
    const work = { task_id: reply.claim.task_id, claim: reply.claim, briefing: reply.briefing ?? null };
    return { work, track: request.asked.track, hold: await this.holdFrom(reply.claim, request.sent_ms) };
  }

  private async newRequest(waits: boolean): Promise<WorkRequest> {
    const { tracks = [], agent_role, lease_duration_seconds } = this.options;
    const track = tracks[this.turn++ % Math.max(tracks.length, 1)];
    const wait_seconds = tracks.length > 1 ? WAIT_SECONDS_TRACKS : WAIT_SECONDS;
    const asked = {
      request_id: newRequestId(),
      ...this.who,
      ...(track === undefined ? {} : { track }),
      ...(agent_role === undefined ? {} : { agent_role }),
      lease_duration_seconds: lease_duration_seconds ?? (await this.proposals.proposeFor(track)),
      wait_seconds: waits ? wait_seconds : 0,
    };
    return { asked, sent_ms: monotonicMs() };
  }

  /** What was not answered may have been granted: the same request is made again until it is. */
  private noWork(problem: Problem, request: WorkRequest): 'later' {
    if (!isPassing(problem)) throw new GenesisError(problem);
    this.unanswered.push(request);
    return 'later';
  }

  private async refused({ reason, next }: ClaimRefused): Promise<'nothing' | 'later' | 'done'> {
    if (reason === 'NOTHING_READY') return (await this.isDone()) ? 'done' : 'nothing';
    if (reason === 'DENIED_LIMIT') return 'later';
    throw new GenesisError({
      code: reason,
      detail: next ?? 'No work is given to this session.',
      status: 409,
    });
  }

  private async isDone(): Promise<boolean> {
    if (this.options.until === 'stopped') return false;
    if (this.options.until === 'idle') return true;
    const { tracks = [undefined] } = this.options;
    for (const track of tracks) {
      const open = await this.tools.calls.tasks({ phase: 'OPEN', limit: 1, ...(track && { track }) });
      if (isProblem(open) || open.tasks.length > 0) return false;
    }
    return true;
  }

  private async holdFrom(claim: LeasedClaim, sent_ms: number): Promise<Hold> {
    const { renewals, calls } = this.tools;
    const lease_seconds = claim.lease_duration_seconds;
    const again_ms = monotonicMs();
    if (again_ms - sent_ms <= lease_seconds * 1000 * LONG_AGO) return renewals.hold(claim, sent_ms);
    const { task_id, session_id, generation, id: claim_id } = claim;
    const renewed = await calls.renewAlone({
      handle: { task_id, session_id, claim_id, generation },
      lease_seconds,
      request_id: newRequestId(),
      timeout_seconds: lease_seconds / 2,
    });
    if (isProblem(renewed) || !renewed.success) return renewals.hold(claim, sent_ms);
    return renewals.hold({ ...claim, expires_at: renewed.new_expiry ?? claim.expires_at }, again_ms);
  }
}
