import { isProblem, type Problem } from './replies.js';

const ITEMS_MAX = 500;
/** Below the megabyte that a command may have, with room for what surrounds the items. */
const BYTES_MAX = 900 * 1024;
/** Beyond so many requests under way, calls wait for one to end and travel together. */
const UNDER_WAY_MAX = 4;

interface Waiting<Body, Reply> {
  readonly body: Body;
  readonly size_bytes: number;
  readonly settle: (reply: Reply | Problem) => void;
}

export interface Ways<Body, Reply> {
  readonly alone: (body: Body) => Promise<Reply | Problem>;
  readonly together: (
    bodies: readonly Body[],
  ) => Promise<{ results: readonly (Reply | Problem)[] } | Problem>;
}

/**
 * Calls of one kind made by one process. A lone call goes alone and at once; those made in one turn while another
 * is under way travel as one request, each with its own request_id and its own fate.
 */
export class Batching<Body extends object, Reply> {
  private waiting: Waiting<Body, Reply>[] = [];
  private under_way = 0;
  private departing = false;

  constructor(private readonly ways: Ways<Body, Reply>) {}

  call(body: Body): Promise<Reply | Problem> {
    if (this.under_way === 0 && this.waiting.length === 0) return this.counted(this.ways.alone(body));
    return new Promise((settle) => {
      this.waiting.push({ body, size_bytes: Buffer.byteLength(JSON.stringify(body)), settle });
      this.departSoon();
    });
  }

  /** At the end of this turn, so that all who call in it come along. */
  private departSoon(): void {
    if (this.departing) return;
    this.departing = true;
    setImmediate(() => {
      this.departing = false;
      while (this.waiting.length > 0 && this.under_way < UNDER_WAY_MAX) {
        void this.counted(this.travel(this.load()));
      }
    });
  }

  private load(): Waiting<Body, Reply>[] {
    let size_bytes = 0;
    const fits = this.waiting.findIndex((call, index) => {
      size_bytes += call.size_bytes;
      return index === ITEMS_MAX || (index > 0 && size_bytes > BYTES_MAX);
    });
    return this.waiting.splice(0, fits === -1 ? this.waiting.length : fits);
  }

  private async travel(calls: readonly Waiting<Body, Reply>[]): Promise<void> {
    const [only] = calls;
    if (calls.length === 1 && only !== undefined) return this.alone(only);
    const reply = await this.ways.together(calls.map(({ body }) => body)).catch(bug);
    if (isProblem(reply)) return this.apart(calls, reply);
    await Promise.all(
      calls.map((call, index) => {
        const own = reply.results[index];
        if (own === undefined || (isProblem(own) && own.status >= 500)) return this.alone(call);
        return call.settle(own);
      }),
    );
  }

  /** One malformed call fails a whole batch, and so may one too many: each is asked alone what is wrong with it. */
  private async apart(calls: readonly Waiting<Body, Reply>[], problem: Problem): Promise<void> {
    if (problem.status !== 400 && problem.status !== 413) {
      for (const { settle } of calls) settle(problem);
      return;
    }
    for (const call of calls) await this.alone(call);
  }

  private async alone({ body, settle }: Waiting<Body, Reply>): Promise<void> {
    settle(await this.ways.alone(body).catch(bug));
  }

  private async counted<T>(request: Promise<T>): Promise<T> {
    this.under_way += 1;
    try {
      return await request;
    } finally {
      this.under_way -= 1;
      if (this.waiting.length > 0) this.departSoon();
    }
  }
}

/** The transport answers with values; should it ever throw, nobody is left waiting. */
const bug = (error: unknown): Problem => ({ code: 'CLIENT_ERROR', detail: String(error), status: 0 });
