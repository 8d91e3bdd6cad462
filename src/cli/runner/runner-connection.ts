import type { Genesis } from '../../client/genesis.js';
import { type ApiProblem, isProblem, isTransient } from '../../client/replies.js';
import type { CommandContext } from '../context.js';
import { CommandFailure } from '../exit.js';
import { unwrapReply } from '../replies.js';

/**
 * The server that a runner calls. In a workspace without `gen up` it may be that of another command, which ends before the
 * runner: then the server of the workspace is resolved again.
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
const PASSING_CODES: ReadonlySet<string> = new Set(['UNREACHABLE', 'UNAVAILABLE', 'UNKNOWN']);

/** Whether a failed round may succeed later: no server, a busy one, or a log that another process holds. */
export const mayPass = (error: unknown): boolean =>
  error instanceof CommandFailure &&
  isProblem(error.body) &&
  isTransient(error.body) &&
  (error.body.status !== 0 || PASSING_CODES.has(error.body.code));
