import { type Genesis, isPassing, isProblem, type Problem } from '../../client/index.js';
import { cursorAt } from '../../coordinator/cursor.js';
import { type ProblemCode, problem, type Problem as Refused } from '../../coordinator/problem.js';
import { plainData } from '../../coordinator/wire.js';
import type { NewEvent } from '../../core/events/envelope.js';
import { type Remote, RemoteUnavailable } from '../../workspace/sync/remote.js';

/** A remote at the other end of a wire. */
export function sdkRemote(genesis: Genesis, name: string): Remote {
  // The bodies are the wire's own, made by sync; the SDK's types would have them spelled out again.
  const asked = (body: unknown): never => body as never;
  return {
    name,
    position: async () => {
      const status = await genesis.status();
      if (isMissing(status)) return 0;
      const { position } = there(status);
      return Number.isSafeInteger(position) && position >= 0 ? position : noCoordinator(name);
    },
    events: async (after, limit) => {
      const page = await genesis.events({ after: cursorAt(after), limit });
      if (isMissing(page)) return [];
      const { events } = there(page);
      return Array.isArray(events) && events.length <= limit && events.every(isPlain)
        ? events
        : noCoordinator(name);
    },
    getBlob: async (sha256) => {
      const bytes = await genesis.getBlob(sha256);
      return isMissing(bytes) ? null : there(bytes);
    },
    putBlob: async (sha256, bytes) => faultIn(await genesis.putBlob(sha256, bytes)),
    claim: async (body) => answer(await genesis.claimTask(asked(body))),
    submit: async (body) => answer(await genesis.submitResult(asked(body))),
    release: async (body) => answer(await genesis.releaseClaim(asked(body))),
    suspend: async (body) => answer(await genesis.suspendClaim(asked(body))),
    resume: async (body) => answer(await genesis.resumeClaim(asked(body))),
    review: async (body) => answer(await genesis.review(asked(body))),
    note: async (body) => answer(await genesis.note(asked(body))),
    append: async (body) => answer(asked(await genesis.appendEvent(body))),
    importEvents: async (events) => answer(await genesis.importEvents(events.map(withoutScope))),
    configure: async (files) => faultIn(await genesis.methodology.init({ files: Object.fromEntries(files) })),
  };
}

/** The path says where they belong. */
const withoutScope = ({ tenant_id: _, project_id: __, ...event }: NewEvent): Record<string, unknown> => event;

const isMissing = (reply: unknown): boolean => isProblem(reply) && reply.status === 404;

const EVENT_DEPTH_MAX = 64;
const isPlain = (event: unknown): boolean =>
  typeof event === 'object' && event !== null && plainData(event, EVENT_DEPTH_MAX);

function noCoordinator(name: string): never {
  throw new RemoteUnavailable(`What ${name} answers is no log. Is this the address of a coordinator?`);
}

function there<T>(reply: T | Problem): T {
  const answered = answer(reply);
  if (answered !== reply) throw new RemoteUnavailable((answered as Refused).detail);
  return reply as T;
}

/** What may be otherwise in a moment is no answer. */
function answer<T>(reply: T | Problem): T | Refused {
  if (typeof reply !== 'object' || reply === null) return noCoordinator('the remote');
  if (!isProblem(reply)) return reply;
  if (isPassing(reply)) throw new RemoteUnavailable(reply.detail);
  return problem(reply.code as ProblemCode, reply.detail, reply.faults);
}

function faultIn(reply: unknown): Refused | null {
  const answered = answer(reply);
  return answered === reply ? null : (answered as Refused);
}
