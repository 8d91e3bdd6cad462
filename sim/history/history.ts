/** Requests and replies as the clients saw them: besides the log, all that the checker knows. */

export type HistoryOperation = 'claim' | 'renew' | 'release' | 'submit';

export interface HistoryRequest {
  readonly operation: HistoryOperation;
  readonly request_id: string;
  readonly subject: string;
  readonly agent_id: string;
  readonly session_id: string;
  /** The handle that the request names; null for a claim, which has no handle yet. */
  readonly generation: number | null;
  readonly claim_id: string | null;
  /** Only for a claim or a renewal. */
  readonly lease_seconds: number | null;
  /** Digest of a submitted result. */
  readonly sha256: string | null;
  /** Whether the request resumes a live claim of its session. */
  readonly resume?: boolean;
}

/** The fields of a reply that can be compared with the log, as far as the reply has them. */
export interface RecordedReplyFields {
  readonly generation?: number;
  readonly claim_id?: string;
  readonly expires_at?: string | null;
  readonly holder?: string | null;
  readonly limit?: string;
  /** Whether the session already held the claim. */
  readonly resumed?: boolean;
}

export type RecordedOutcome =
  | { readonly kind: 'ok'; readonly reply_fields: RecordedReplyFields }
  | { readonly kind: 'refused'; readonly reason: string; readonly reply_fields: RecordedReplyFields }
  /** The call certainly had no effect: no coordinator was reached, or the coordinator says so. */
  | { readonly kind: 'no_effect'; readonly why: string }
  /** The call may have had its effect, or may still have it. */
  | { readonly kind: 'unknown'; readonly why: string };

/** One attempt to deliver a request. A retried request is several calls. */
export interface RecordedCall {
  readonly call_number: number;
  readonly request: HistoryRequest;
  /** The coordinator that the request was sent to. */
  readonly coordinator: string;
  /** By the driver's monotonic clock. */
  readonly invoked_ms: number;
  readonly returned_ms: number;
  readonly outcome: RecordedOutcome;
}

/** Whether the effect of a call may be in the log. */
export const mayHaveHappened = ({ outcome }: RecordedCall): boolean =>
  outcome.kind === 'ok' || outcome.kind === 'unknown';

export function describeCall({
  call_number,
  request,
  coordinator,
  invoked_ms,
  returned_ms,
  outcome,
}: RecordedCall): string {
  const handle = request.generation === null ? '' : ` generation ${request.generation}`;
  const window = `${invoked_ms.toFixed(1)}–${returned_ms.toFixed(1)} ms`;
  return `call ${call_number} (${window}, ${coordinator}): ${request.operation} ${request.subject}${handle} by ${request.agent_id}, request ${request.request_id}: ${describeOutcome(outcome)}`;
}

function describeOutcome(outcome: RecordedOutcome): string {
  if (outcome.kind === 'ok' || outcome.kind === 'refused') {
    const word = outcome.kind === 'ok' ? 'done' : `refused ${outcome.reason}`;
    return `${word} ${JSON.stringify(outcome.reply_fields)}`;
  }
  return outcome.kind === 'no_effect' ? `nothing happened (${outcome.why})` : `unknown (${outcome.why})`;
}

/** Records the calls of a run. */
export class CallRecorder {
  readonly calls: RecordedCall[] = [];
  private readonly listeners = new Set<() => void>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  async call(
    request: HistoryRequest,
    coordinator: string,
    send: () => Promise<RecordedOutcome>,
  ): Promise<RecordedOutcome> {
    const invoked_ms = this.now();
    const outcome = await send();
    const call_number = this.calls.length + 1;
    this.calls.push({ call_number, request, coordinator, invoked_ms, returned_ms: this.now(), outcome });
    for (const check of this.listeners) check();
    return outcome;
  }

  /** Resolves when a call with at least this number matches. */
  waitFor(matches: (call: RecordedCall) => boolean, fromCallNumber = 1): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!this.calls.slice(fromCallNumber - 1).some(matches)) return;
        this.listeners.delete(check);
        resolve();
      };
      this.listeners.add(check);
      check();
    });
  }
}
