import { StoreBroken, StoreUnavailable } from '../store.js';

/** A command was sent and no reply came back: it may have run, or may still run. */
export class ReplyLost extends Error {
  override readonly name = 'ReplyLost';

  constructor() {
    super('The connection to Redis was lost before the reply arrived. Try again.');
  }
}

/** Error codes of commands that Redis did not run, with an explanation for a person. */
const NOT_EXECUTED: Readonly<Record<string, string>> = {
  LOADING: 'Redis is loading its data. Try again.',
  BUSY: 'Redis is busy with the script of another client. Try again.',
  READONLY: 'This Redis is a read-only replica. Connect to its primary.',
  MASTERDOWN: 'This Redis is a replica that has lost its primary. Connect to the primary.',
  CLUSTERDOWN: 'The Redis cluster is down. Check its nodes, then try again.',
  TRYAGAIN: 'The Redis cluster is moving keys. Try again.',
  MOVED: 'The keys of this tenant are on another node of the Redis cluster. Use the URL of that node.',
  OOM: 'The memory of Redis is full. Raise maxmemory.',
  MISCONF: 'Redis cannot write to its disk and rejects writes. Check the disk of the Redis server.',
  NOREPLICAS: 'Redis has fewer reachable replicas than min-replicas-to-write requires. Check the replicas.',
  NOAUTH: 'Redis requires a user and password. Add them to the URL.',
  WRONGPASS: 'Redis rejected the login. Check user and password in the URL.',
  NOPERM: 'The Redis user lacks permissions that the store needs. docs/redis.md lists the ACL rules.',
};

/** After these errors the connection is unusable: another server or another user is needed. */
const CONNECTION_FATAL = new Set(['READONLY', 'MASTERDOWN', 'NOAUTH', 'MOVED']);

export const codeOf = (reply: Error): string => reply.message.split(' ', 1)[0] ?? '';

export const endsConnection = (reply: Error): boolean => CONNECTION_FATAL.has(codeOf(reply));

/** Maps an error reply to an error of the store contract. */
export function toStoreError(reply: Error): StoreUnavailable | StoreBroken {
  const code = codeOf(reply);
  const message = NOT_EXECUTED[code];
  if (message !== undefined) return new StoreUnavailable(message);
  if (reply.message.startsWith('ERR max number of clients')) {
    return new StoreUnavailable('Redis has reached its connection limit. Raise maxclients.');
  }
  if (code === 'LINEAGE') return new HistoryLost();
  return new StoreBroken(
    `Redis rejected a command of the store: ${reply.message}. Check the version of Redis and the permissions of its user, then restart the coordinator.`,
  );
}

/** The server is not the one that the store was opened on, or may have forgotten a part of its history. */
export class HistoryLost extends StoreBroken {
  constructor() {
    super(
      'Redis was restarted or failed over, or another server responds: the last acknowledged commits may be lost. Restart the coordinator.',
    );
  }
}
