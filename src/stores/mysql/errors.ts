import { certificateError, isCertificateError } from '../certificate.js';
import { StoreRefused, StoreUnavailable } from '../store.js';
import type { MysqlOptions } from './options.js';

/** A driver error: server errors have a number, network errors a code. */
export interface MysqlDriverError extends Error {
  readonly code?: string;
  readonly errno?: number;
  readonly fatal?: boolean;
}

const ERROR_NUMBER = {
  too_many_connections: 1040,
  no_access_to_database: 1044,
  wrong_password: 1045,
  no_database: 1049,
  shutting_down: 1053,
  command_denied: 1142,
  no_table: 1146,
  too_many_of_user: 1203,
  lock_wait_timeout: 1205,
  deadlock: 1213,
  limit_of_user: 1226,
  read_only: 1290,
  no_procedure: 1305,
  query_interrupted: 1317,
  procedure_denied: 1370,
  is_read_only_transaction: 1792,
  connection_killed: 1927,
  statement_timeout: 1969,
} as const;

/** The server rolled the batch back, and a retry may succeed. */
const RETRYABLE: ReadonlySet<number> = new Set([ERROR_NUMBER.lock_wait_timeout, ERROR_NUMBER.deadlock]);
/** The server ended the call or the connection: the error does not tell how far it had come. */
const CONNECTION_LOST: ReadonlySet<number> = new Set([
  ERROR_NUMBER.shutting_down,
  ERROR_NUMBER.query_interrupted,
  ERROR_NUMBER.connection_killed,
  ERROR_NUMBER.statement_timeout,
]);
/**
 * Full disk or table, out of memory: the statement was rolled back. 1021, 1037, 1041, 1114, 1030 (with the engine's own
 * number).
 */
const EXHAUSTED: ReadonlySet<number> = new Set([1021, 1030, 1037, 1041, 1114]);
const TOO_MANY_CONNECTIONS: ReadonlySet<number> = new Set([
  ERROR_NUMBER.too_many_connections,
  ERROR_NUMBER.too_many_of_user,
  ERROR_NUMBER.limit_of_user,
]);
const READ_ONLY: ReadonlySet<number> = new Set([
  ERROR_NUMBER.read_only,
  ERROR_NUMBER.is_read_only_transaction,
]);

const numberOf = (error: unknown): number => (error as MysqlDriverError).errno ?? 0;
const isServerError = (error: unknown): boolean => numberOf(error) >= 1000;

export const isRetryable = (error: unknown): boolean => RETRYABLE.has(numberOf(error));

/** The connection was lost, or the call was ended from outside, after the statement had been sent. */
export function isConnectionLost(error: unknown): boolean {
  const { code, fatal } = error as MysqlDriverError;
  return (
    CONNECTION_LOST.has(numberOf(error)) || (!isServerError(error) && (fatal === true || code !== undefined))
  );
}

export const isMissingSchema = (error: unknown): boolean =>
  [ERROR_NUMBER.no_database, ERROR_NUMBER.no_table].includes(numberOf(error) as 1049);

/** Maps an error to one of the store contract. Only for errors before anything took effect, or of reads. */
export function toStoreError(error: unknown, options: MysqlOptions): unknown {
  const where = `${options.host}:${options.port}`;
  const number = numberOf(error);
  if (isConnectionLost(error) || TOO_MANY_CONNECTIONS.has(number)) {
    return new StoreUnavailable(`MySQL at ${where} cannot be reached now (${errorNameOf(error)}).`);
  }
  if (isRetryable(error)) {
    return new StoreUnavailable(`MySQL at ${where} is too busy: a lock was waited for in vain.`);
  }
  if (EXHAUSTED.has(number)) {
    return new StoreUnavailable(`MySQL at ${where} has no room left (${errorNameOf(error)}).`);
  }
  if (READ_ONLY.has(number))
    return new StoreUnavailable(`MySQL at ${where} takes no writes: it is read only.`);
  return error;
}

/** Maps an error while a store is being opened: what needs a person is `StoreRefused`, with an explanation. */
export function toOpeningError(error: unknown, options: MysqlOptions): unknown {
  const where = `${options.host}:${options.port}`;
  switch (numberOf(error)) {
    case ERROR_NUMBER.wrong_password:
      return new StoreRefused(
        `MySQL at ${where} does not let the user ${options.user} in. Check user and password in the URL.`,
      );
    case ERROR_NUMBER.no_access_to_database:
    case ERROR_NUMBER.command_denied:
    case ERROR_NUMBER.procedure_denied:
      return new StoreRefused(
        `The user ${options.user} of MySQL at ${where} lacks rights in the database ${options.namespace}. docs/mysql.md lists them.`,
      );
    case ERROR_NUMBER.no_procedure:
      return missingSchemaError(options);
    default:
      if (!isServerError(error) && isCertificateError(error))
        return certificateError(`MySQL at ${where}`, error);
      return isMissingSchema(error) ? missingSchemaError(options) : toStoreError(error, options);
  }
}

export const missingSchemaError = ({ namespace }: MysqlOptions): StoreRefused =>
  new StoreRefused(`The database ${namespace} holds no store yet. Run: gen migrate --store URL`);

const errorNameOf = (error: unknown): string => {
  const { code, message } = error as MysqlDriverError;
  return code ?? message;
};
