import { type ClaimEventKind, claimEventKindOf } from '../claims/claim-event-kinds.js';
import { type EventEnvelope, msOf } from '../events/envelope.js';
import { LIMITS_SUBJECT, TENANT_PROJECT } from '../subject.js';

/**
 * Commands closer than this to a change of the limits are not reported. The limits of a tenant are in another log than its
 * commands, coordinators apply a change only within seconds, and the clocks of coordinators and signers may differ by
 * minutes.
 */
const MARGIN_MS = 5 * 60_000;

interface LimitsHistory {
  /** The position of the last change that was read, because a log may be read more than once. */
  lastPosition: number;
  readonly changes: { readonly at_ms: number; readonly isRequired: boolean }[];
}

/** When each tenant required signatures, from the logs of their limits. */
export class SignatureRequirements {
  private readonly histories = new Map<string, LimitsHistory>();

  /** Reads a change of a tenant's limits. The log with these changes must be read before the logs of the projects. */
  visit({ tenant_id, project_id, subject, event_type, timestamp, position, payload }: EventEnvelope): void {
    if (project_id !== TENANT_PROJECT || subject !== LIMITS_SUBJECT || event_type !== 'LIMITS_CHANGED')
      return;
    const record = payload.record as { require_signatures?: unknown } | undefined;
    const isRequired = record?.require_signatures === true;
    const history = this.histories.get(tenant_id) ?? { lastPosition: 0, changes: [] };
    this.histories.set(tenant_id, history);
    if (position <= history.lastPosition) return;
    history.lastPosition = position;
    const { changes } = history;
    if (changes.at(-1)?.isRequired !== isRequired) changes.push({ at_ms: msOf(timestamp), isRequired });
  }

  /** Whether the tenant certainly required signatures at that time. */
  isRequired(tenantId: string, atMs: number): boolean {
    const { changes = [] } = this.histories.get(tenantId) ?? {};
    const lastChangeBefore = changes.findLast(({ at_ms }) => at_ms < atMs - MARGIN_MS);
    const changesAround = changes.filter(({ at_ms }) => Math.abs(at_ms - atMs) <= MARGIN_MS);
    return lastChangeBefore?.isRequired === true && changesAround.every(({ isRequired }) => isRequired);
  }
}

/**
 * Events that only a session's command can cause, or the approval of a candidate. Grants and releases are not among them,
 * because operators cause them too, nor are heartbeats, which the coordinator adds to other commands.
 */
const SESSION_KINDS: ReadonlySet<ClaimEventKind | undefined> = new Set<ClaimEventKind>([
  'accepted',
  'escalated',
  'suspended',
  'resumed',
  'result_refused',
  'noted',
]);

/** Finds the events of one log that lack a signature which the tenant required. */
export class UnsignedCommands {
  private lastReview: EventEnvelope | null = null;

  constructor(private readonly requirements: SignatureRequirements) {}

  /** Whether a command of a session was recorded without the signature that was required. */
  isUnsigned(event: EventEnvelope): boolean {
    const kind = claimEventKindOf(event.event_type);
    if (kind === 'reviewed') this.lastReview = event;
    if (!SESSION_KINDS.has(kind) || event.session_id === undefined) return false;
    if (event.payload.signature !== undefined || this.isOfReview(event)) return false;
    return this.requirements.isRequired(event.tenant_id, msOf(event.timestamp));
  }

  /**
   * Whether the event follows directly from a review: an approval accepts the candidate in the same commit, and the
   * reviewer has no session that could sign.
   */
  private isOfReview({ position, subject }: EventEnvelope): boolean {
    return this.lastReview?.position === position - 1 && this.lastReview.subject === subject;
  }
}
