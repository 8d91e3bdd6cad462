import { subjectKindOf } from '../core/subject.js';
import {
  ESCALATED_MAX,
  type EscalatedClaim,
  type EscalatedClaims,
  type OwnedEscalation,
} from './escalated-claims.js';
import type { WorkOptions } from './work-options.js';

/** Well below the time after which an unchanged file counts as abandoned. */
const OWNERSHIP_REFRESH_INTERVAL_MS = 60_000;

/**
 * The claims of one work loop that wait for a person. The loop requests them again before it requests new work, because
 * the person may have requested changes. It also takes over the waiting claims of workers that have ended.
 */
export class EscalatedWork {
  /** Includes claims that are being worked on. */
  private readonly owned = new Set<OwnedEscalation>();
  private readonly waiting: OwnedEscalation[] = [];
  private readonly unrequested = new Set<OwnedEscalation>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly claims: EscalatedClaims,
    private readonly options: WorkOptions,
  ) {}

  start(): void {
    this.timer = setInterval(() => void this.keepOwnershipOfAll(), OWNERSHIP_REFRESH_INTERVAL_MS).unref();
  }

  /** Takes the claims that no living worker owns and that this worker can work on. */
  async takeAbandoned(): Promise<void> {
    if (this.owned.size >= ESCALATED_MAX) return;
    for (const escalation of await this.claims.take((claim) => this.canWorkOn(claim))) {
      this.owned.add(escalation);
      this.unrequested.add(escalation);
      this.waiting.push(escalation);
    }
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  /** Whether there are claims that this loop has not requested yet. */
  get hasUnrequestedClaims(): boolean {
    return this.unrequested.size > 0;
  }

  hasClaimOfSession(sessionId: string): boolean {
    return [...this.owned].some(({ claim }) => claim.session_id === sessionId);
  }

  /** The next claim to request; null if there is none. A claim is not returned again until `returnToWaiting` is called. */
  async next(): Promise<OwnedEscalation | null> {
    for (let escalation = this.waiting.shift(); escalation !== undefined; escalation = this.waiting.shift()) {
      this.unrequested.delete(escalation);
      if (await this.claims.keepOwnership(escalation)) return escalation;
      this.owned.delete(escalation);
    }
    return null;
  }

  /** Queues a claim that still waits for a person. */
  returnToWaiting(escalation: OwnedEscalation): void {
    this.waiting.push(escalation);
  }

  /** Removes a claim that no longer waits: it was worked on or decided, or another worker has it. */
  async remove(escalation: OwnedEscalation): Promise<void> {
    this.owned.delete(escalation);
    await this.claims.remove(escalation);
  }

  /** Gives the claims back for other workers, or removes them if all work is done. */
  async end(isDone: boolean): Promise<void> {
    clearInterval(this.timer);
    for (const escalation of this.owned)
      await (isDone ? this.claims.remove(escalation) : this.claims.giveBack(escalation));
    this.owned.clear();
  }

  private canWorkOn({ task_id, agent_role }: EscalatedClaim): boolean {
    const { kinds = ['task'], tracks = [] } = this.options;
    const kind = subjectKindOf(task_id);
    if (kind === 'record' || !kinds.includes(kind) || agent_role !== this.options.agent_role) return false;
    // Only tasks belong to tracks.
    return kind === 'task' || tracks.length === 0;
  }

  private async keepOwnershipOfAll(): Promise<void> {
    for (const escalation of this.owned) await this.claims.keepOwnership(escalation);
  }
}
