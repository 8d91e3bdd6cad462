import { type ApiProblem, type Genesis, isProblem, isTransient } from '../../client/index.js';
import { cursorAt } from '../../coordinator/queries/cursor.js';
import { problem, type Problem as Refused } from '../../coordinator/wire/problem.js';
import type { ProblemCode } from '../../core/contract/codes.js';
import { isPlainData } from '../../core/contract/schema.js';
import type { NewEvent } from '../../core/events/envelope.js';
import { configureBodyOf } from '../../workspace/read-files.js';
import { EMPTY_PLAN, RemoteUnavailable, type SyncRemote } from '../../workspace/sync/remote.js';

/** A remote that is called through the SDK. */
export function serverRemote(genesis: Genesis, name: string): SyncRemote {
  // Sync builds the bodies in wire format, so the SDK's types add nothing here.
  const asWireBody = (body: unknown): never => body as never;
  return {
    name,
    position: async () => {
      const status = await genesis.status();
      if (isMissing(status)) return 0;
      const { position } = requireReply(status);
      return Number.isSafeInteger(position) && position >= 0 ? position : throwNotACoordinator(name);
    },
    events: async (after, limit) => {
      const page = await genesis.events({ after: cursorAt(after), limit });
      if (isMissing(page)) return [];
      const { events } = requireReply(page);
      return Array.isArray(events) && events.length <= limit && events.every(isPlain)
        ? events
        : throwNotACoordinator(name);
    },
    getBlob: async (sha256) => {
      const bytes = await genesis.getBlob(sha256);
      return isMissing(bytes) ? null : requireReply(bytes);
    },
    putBlob: async (sha256, bytes) => problemIn(await genesis.putBlob(sha256, bytes)),
    claim: async (body) => toRemoteReply(await genesis.claimTask(asWireBody(body))),
    submit: async (body) => toRemoteReply(await genesis.submitResult(asWireBody(body))),
    release: async (body) => toRemoteReply(await genesis.releaseClaim(asWireBody(body))),
    suspend: async (body) => toRemoteReply(await genesis.suspendClaim(asWireBody(body))),
    resume: async (body) => toRemoteReply(await genesis.resumeClaim(asWireBody(body))),
    review: async (body) => toRemoteReply(await genesis.review(asWireBody(body))),
    note: async (body) => toRemoteReply(await genesis.note(asWireBody(body))),
    append: async (body) => toRemoteReply(await genesis.appendEvent(body)),
    importEvents: async (events) => toRemoteReply(await genesis.importEvents(events.map(withoutScope))),
    create: async () => problemIn(await genesis.putPlan(EMPTY_PLAN, { if_match: 0 })),
    configure: async (texts) => problemIn(await genesis.methodology.init(configureBodyOf(texts))),
  };
}

/** The event without its tenant and project, which are in the path of the request. */
const withoutScope = ({ tenant_id: _, project_id: __, ...event }: NewEvent): Record<string, unknown> => event;

const isMissing = (reply: unknown): boolean => isProblem(reply) && reply.status === 404;

const EVENT_DEPTH_MAX = 64;
const isPlain = (event: unknown): boolean =>
  typeof event === 'object' && event !== null && isPlainData(event, EVENT_DEPTH_MAX);

function throwNotACoordinator(name: string): never {
  throw new RemoteUnavailable(`Invalid reply from ${name}. Check that it is the URL of a coordinator.`);
}

function requireReply<T>(reply: T | ApiProblem): T {
  const remoteReply = toRemoteReply(reply);
  if (remoteReply !== reply) throw new RemoteUnavailable((remoteReply as Refused).detail);
  return reply as T;
}

/** Throws on a transient problem, so that callers see only final replies. */
function toRemoteReply<T>(reply: T | ApiProblem): T | Refused {
  if (typeof reply !== 'object' || reply === null) return throwNotACoordinator('the remote');
  if (!isProblem(reply)) return reply;
  if (isTransient(reply)) throw new RemoteUnavailable(reply.detail);
  return problem(reply.code as ProblemCode, reply.detail, reply.faults);
}

function problemIn(reply: unknown): Refused | null {
  const remoteReply = toRemoteReply(reply);
  return remoteReply === reply ? null : (remoteReply as Refused);
}
