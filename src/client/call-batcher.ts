import { type ApiProblem, isProblem } from './replies.js';
import type { ReplyPromise } from './requests.js';

const ITEMS_MAX = 500;
/** Maximum size of the items in one request: below the 1 MiB limit of a command, with space for the JSON around them. */
const BYTES_MAX = 900 * 1024;
/** Maximum number of requests under way; further calls wait and are batched. */
const IN_FLIGHT_MAX = 4;

interface PendingCall<Body, Reply> {
  readonly body: Body;
  /** The body as JSON, which becomes a part of the batch. */
  readonly text: string;
  readonly settle: (reply: Reply | ApiProblem) => void;
}

/**
 * Batches the calls of one kind within a process. A single call is sent alone and at once; calls made in one turn of
 * the event loop while others are under way share a request, each with its own request_id and reply.
 */
export class CallBatcher<Body extends object, Reply> {
  private pending: PendingCall<Body, Reply>[] = [];
  private inFlight = 0;
  private isFlushScheduled = false;

  constructor(
    private readonly sendAlone: (body: Body) => ReplyPromise<Reply>,
    private readonly sendBatch: (
      bodyTexts: readonly string[],
    ) => ReplyPromise<{ results: readonly (Reply | ApiProblem)[] }>,
  ) {}

  call(body: Body): ReplyPromise<Reply> {
    if (this.inFlight === 0 && this.pending.length === 0) return this.trackInFlight(this.sendAlone(body));
    return new Promise((settle) => {
      this.pending.push({ body, text: JSON.stringify(body), settle });
      this.scheduleFlush();
    });
  }

  /** Flushes at the end of this turn, to include every call made in it. */
  private scheduleFlush(): void {
    if (this.isFlushScheduled) return;
    this.isFlushScheduled = true;
    setImmediate(() => {
      this.isFlushScheduled = false;
      while (this.pending.length > 0 && this.inFlight < IN_FLIGHT_MAX) {
        void this.trackInFlight(this.sendCalls(this.takeBatch()));
      }
    });
  }

  private takeBatch(): PendingCall<Body, Reply>[] {
    let sizeBytes = 0;
    const endIndex = this.pending.findIndex((call, index) => {
      sizeBytes += Buffer.byteLength(call.text);
      return index === ITEMS_MAX || (index > 0 && sizeBytes > BYTES_MAX);
    });
    return this.pending.splice(0, endIndex === -1 ? this.pending.length : endIndex);
  }

  private async sendCalls(calls: readonly PendingCall<Body, Reply>[]): Promise<void> {
    const [only] = calls;
    if (calls.length === 1 && only !== undefined) return this.sendOne(only);
    const reply = await this.sendBatch(calls.map(({ text }) => text)).catch(clientError);
    if (isProblem(reply)) {
      // A malformed or forbidden call, or too many bytes, fails the whole batch. Each call is then sent alone to get its
      // own reply.
      const isRetriedPerCall = [400, 403, 413].includes(reply.status);
      for (const call of calls) await (isRetriedPerCall ? this.sendOne(call) : call.settle(reply));
      return;
    }
    await Promise.all(
      calls.map((call, index) => {
        const itemReply = reply.results[index];
        if (itemReply === undefined || (isProblem(itemReply) && itemReply.status >= 500))
          return this.sendOne(call);
        return call.settle(itemReply);
      }),
    );
  }

  private async sendOne({ body, settle }: PendingCall<Body, Reply>): Promise<void> {
    settle(await this.sendAlone(body).catch(clientError));
  }

  private async trackInFlight<T>(request: Promise<T>): Promise<T> {
    this.inFlight += 1;
    try {
      return await request;
    } finally {
      this.inFlight -= 1;
      if (this.pending.length > 0) this.scheduleFlush();
    }
  }
}

/** The problem that a caller gets if the transport throws, although it should return problems as values. */
const clientError = (error: unknown): ApiProblem => ({
  code: 'CLIENT_ERROR',
  detail: String(error),
  status: 0,
});
