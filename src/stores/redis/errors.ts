import { StoreBroken, StoreUnavailable } from '../store.js';

/** A command was sent and no reply came back: it may have run, or may still run. */
export class ReplyLost extends Error {
  override readonly name = 'ReplyLost';

  constructor() {
    super('The connection to Redis was lost before the answer came.');
  }
}

/** Error codes of commands that Redis did not run, with an explanation for a person. */
const NOT_EXECUTED: Readonly<Record<string, string>> = {
  LOADING: 'Redis is starting and still reads its data.',
  BUSY: 'Redis is busy with a script of somebody else.',
  READONLY: 'This Redis is a replica and takes no writes.',
  MASTERDOWN: 'This Redis is a replica that has lost its primary.',
  CLUSTERDOWN: 'The Redis cluster is down.',
  TRYAGAIN: 'The Redis cluster is moving keys.',
  MOVED: 'The keys of this tenant are on another node of the cluster.',
  OOM: 'The memory of Redis is full (maxmemory). Give it more.',
  MISCONF: 'Redis cannot write to its disk, and takes no writes until it can.',
  NOREPLICAS: 'Redis has fewer replicas in reach than min-replicas-to-write demands.',
  NOAUTH: 'Redis wants a user and password.',
  WRONGPASS: 'Redis does not accept this user and password.',
  NOPERM: 'The Redis user may not do what the store needs: docs/redis.md has its ACL rules.',
};

/** After these errors the connection is unusable: another server or another user is needed. */
const CONNECTION_FATAL = new Set(['READONLY', 'MASTERDOWN', 'NOAUTH', 'MOVED']);

export const codeOf = (reply: Error): string => reply.message.split(' ', 1)[0] ?? '';

export const endsConnection = (reply: Error): boolean => CONNECTION_FATAL.has(codeOf(reply));

/** A commit reached a server other than the one its store was opened on. */
export const isLostHistory = (reply: Error): boolean => codeOf(reply) === 'LINEAGE';

/** Maps an error reply to an error of the store contract. */
export function toStoreError(reply: Error): StoreUnavailable | StoreBroken {
  const code = codeOf(reply);
  const message = NOT_EXECUTED[code];
  if (message !== undefined) return new StoreUnavailable(message);
  if (reply.message.startsWith('ERR max number of clients')) {
    return new StoreUnavailable('Redis has as many connections as it allows (maxclients).');
  }
  if (isLostHistory(reply)) return historyLostError();
  return new StoreBroken(`Redis refused what a store may ask: ${reply.message}`);
}

export const historyLostError = (): StoreBroken =>
  new StoreBroken(
    'Redis was restarted or another server took over: what was acknowledged last may be lost. Open the store anew.',
  );
