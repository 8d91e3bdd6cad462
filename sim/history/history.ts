/** What a client asked and was answered, as it saw it: all that the checker knows beside the log. */

export type Operation = 'claim' | 'renew' | 'release' | 'submit';

export interface Asked {
  readonly operation: Operation;
  readonly request_id: string;
  readonly subject: string;
  readonly agent_id: string;
  readonly session_id: string;
  /** The handle it shows; null for a claim, which has none yet. */
  readonly generation: number | null;
  readonly claim_id: string | null;
  /** Of a claim or a renewal. */
  readonly lease_seconds: number | null;
  /** Digest of a submitted result. */
  readonly sha256: string | null;
}

/** The fields of a reply that can be held against the log; those it did not have are left out. */
export interface Told {
  readonly generation?: number;
  readonly claim_id?: string;
  readonly expires_at?: string | null;
  readonly holder?: string | null;
  readonly limit?: string;
}

export type Answer =
  | { readonly kind: 'ok'; readonly told: Told }
  | { readonly kind: 'refused'; readonly reason: string; readonly told: Told }
  /** It surely did not happen: nobody was reached, or the coordinator says so. */
  | { readonly kind: 'nothing'; readonly why: string }
  /** It may have happened, or may still. */
  | { readonly kind: 'unknown'; readonly why: string };

/** One arrival of a request, or the attempt at one. A request that is repeated is several calls. */
export interface Call {
  readonly number: number;
  readonly asked: Asked;
  /** Which coordinator was asked. */
  readonly coordinator: string;
  /** By one monotonic clock, the driver's. */
  readonly invoked_ms: number;
  readonly returned_ms: number;
  readonly answer: Answer;
}

/** A call whose effect may be in the log. */
export const mayHaveHappened = ({ answer }: Call): boolean =>
  answer.kind === 'ok' || answer.kind === 'unknown';

export function describeCall({ number, asked, coordinator, invoked_ms, returned_ms, answer }: Call): string {
  const handle = asked.generation === null ? '' : ` generation ${asked.generation}`;
  const window = `${invoked_ms.toFixed(1)}–${returned_ms.toFixed(1)} ms`;
  return `call ${number} (${window}, ${coordinator}): ${asked.operation} ${asked.subject}${handle} by ${asked.agent_id}, request ${asked.request_id}: ${describeAnswer(answer)}`;
}

function describeAnswer(answer: Answer): string {
  if (answer.kind === 'ok' || answer.kind === 'refused') {
    const word = answer.kind === 'ok' ? 'done' : `refused ${answer.reason}`;
    return `${word} ${JSON.stringify(answer.told)}`;
  }
  return answer.kind === 'nothing' ? `nothing happened (${answer.why})` : `unknown (${answer.why})`;
}

/** Gathers the calls of a run. */
export class Recorder {
  readonly calls: Call[] = [];
  private readonly waiting = new Set<() => void>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  async call(asked: Asked, coordinator: string, ask: () => Promise<Answer>): Promise<Answer> {
    const invoked_ms = this.now();
    const answer = await ask();
    const number = this.calls.length + 1;
    this.calls.push({ number, asked, coordinator, invoked_ms, returned_ms: this.now(), answer });
    for (const look of this.waiting) look();
    return answer;
  }

  /** Resolves when there is such a call among those from this number on. */
  seen(isIt: (call: Call) => boolean, from = 1): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!this.calls.slice(from - 1).some(isIt)) return;
        this.waiting.delete(look);
        resolve();
      };
      this.waiting.add(look);
      look();
    });
  }
}
