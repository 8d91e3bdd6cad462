import type { Genesis } from '../../client/genesis.js';
import { type ApiProblem, isProblem, isTransient } from '../../client/replies.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';
import { unwrapReply } from '../replies.js';

/**
 * The server that a runner calls. Without `gen up`, the server of a workspace may belong to another command and end with
 * it; then the runner finds or starts a new one.
 */
export class RunnerConnection {
  constructor(private readonly context: CommandContext) {}

  async call<T>(request: (client: Genesis) => Promise<T | ApiProblem>): Promise<T> {
    const reply = await request(await this.context.genesis());
    const isGone = isProblem(reply) && reply.code === 'UNREACHABLE';
    if (!isGone || this.context.explicitUrl !== null) return unwrapReply(reply);
    await this.context.leaveServer();
    return unwrapReply(await request(await this.context.genesis()));
  }
}

/** Codes of failures without a response after which the same request may succeed later. */
const TRANSIENT_CODES: ReadonlySet<string> = new Set(['UNREACHABLE', 'UNAVAILABLE', 'UNKNOWN']);

/**
 * Whether the runner should try again after this error: the server cannot be reached or is busy, or another process holds
 * the log.
 */
export const isTransientFailure = (error: unknown): boolean =>
  error instanceof CommandFailure &&
  isProblem(error.body) &&
  isTransient(error.body) &&
  (error.body.status !== 0 || TRANSIENT_CODES.has(error.body.code));
