import { certificateError, isCertificateError } from '../certificate.js';
import { StoreRefused, StoreUnavailable } from '../store.js';
import type { MysqlOptions } from './options.js';

/** A driver error: server errors have a number, network errors a code. */
interface MysqlDriverError extends Error {
  readonly code?: string;
  readonly errno?: number;
  readonly fatal?: boolean;
}

/**
 * `lost`: the call or the connection was ended, and the error does not tell how far it had come. `again`: rolled back,
 * and a retry may succeed. The others were rolled back too, or never began.
 */
type MysqlFailure =
  | 'lost'
  | 'again'
  | 'crowded'
  | 'exhausted'
  | 'read_only'
  | 'login'
  | 'denied'
  | 'missing'
  | 'other';

const FAILURES: Readonly<Record<number, MysqlFailure>> = {
  1021: 'exhausted', // disk full
  1030: 'exhausted', // an error of the storage engine, such as a full disk
  1037: 'exhausted', // out of memory
  1040: 'crowded', // too many connections
  1041: 'exhausted', // out of resources
  1044: 'denied', // no access to the database
  1045: 'login', // wrong password
  1049: 'missing', // no such database
  1053: 'lost', // shutting down
  1114: 'exhausted', // table full
  1142: 'denied', // command denied
  1146: 'missing', // no such table
  1203: 'crowded', // too many connections of this user
  1205: 'again', // lock wait timeout
  1213: 'again', // deadlock
  1226: 'crowded', // a limit of this user
  1290: 'read_only', // the server
  1305: 'missing', // no such procedure
  1317: 'lost', // interrupted
  1370: 'denied', // procedure denied
  1792: 'read_only', // the transaction
  1927: 'lost', // connection killed
  1969: 'lost', // statement timeout
};

export function classifyError(error: unknown): MysqlFailure {
  const { errno = 0, code, fatal } = error as MysqlDriverError;
  if (errno < 1000 && (fatal === true || code !== undefined)) return 'lost';
  return FAILURES[errno] ?? 'other';
}

/** Maps an error to an error of the store contract. Only for errors of reads, and of writes that had no effect. */
export function toStoreError(error: unknown, { host, port }: MysqlOptions): unknown {
  const { code, message } = error as MysqlDriverError;
  const reason = UNAVAILABLE[classifyError(error)];
  return reason === undefined
    ? error
    : new StoreUnavailable(`MySQL at ${host}:${port} is ${reason(code ?? message)}`);
}

const UNAVAILABLE: Readonly<Partial<Record<MysqlFailure, (error: string) => string>>> = {
  lost: (error) => `unreachable (${error}). Try again.`,
  crowded: (error) =>
    `refusing requests (${error}): a limit on connections or of this user is reached. Raise that limit, or lower "pool" in the store URL.`,
  again: () => 'too busy: it rolled the transaction back after a lock timeout or a deadlock. Try again.',
  exhausted: (error) =>
    `out of space or memory (${error}). Free some on the database server, then try again.`,
  read_only: () => 'read-only. Use the URL of the primary.',
};

/**
 * Maps an error from opening a store. An error that a person must fix becomes `StoreRefused`, with an explanation.
 */
export function toOpeningError(error: unknown, options: MysqlOptions): unknown {
  const { host, port, user, namespace } = options;
  const where = `MySQL at ${host}:${port}`;
  const failure = classifyError(error);
  if (failure === 'lost' && isCertificateError(error)) return certificateError(where, error);
  if (failure === 'login') {
    return new StoreRefused(`${where} rejected the login of ${user}. Check user and password in the URL.`);
  }
  if (failure === 'denied') {
    return new StoreRefused(
      `The user ${user} of ${where} lacks privileges on the database ${namespace}. docs/mysql.md lists them.`,
    );
  }
  if (failure === 'missing') {
    return new StoreRefused(`The database ${namespace} has no schema yet. Run: gen migrate --store URL`);
  }
  return toStoreError(error, options);
}
