import { certificateRefused, isCertificateFault } from '../certificate.js';
import { StoreRefused, StoreUnavailable } from '../store.js';
import type { MysqlOptions } from './configuration.js';

/** What the driver throws: errors of the server carry a number, those of the network a code. */
export interface DriverError extends Error {
  readonly code?: string;
  readonly errno?: number;
  readonly fatal?: boolean;
}

const NUMBER = {
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

/** The server rolled the batch back, and asking again may well work. */
const TRY_AGAIN: ReadonlySet<number> = new Set([NUMBER.lock_wait_timeout, NUMBER.deadlock]);
/** The server ended the call or the connection: nobody can tell from the error how far it had come. */
const CUT_SHORT: ReadonlySet<number> = new Set([
  NUMBER.shutting_down,
  NUMBER.query_interrupted,
  NUMBER.connection_killed,
  NUMBER.statement_timeout,
]);
/** Full disks and tables, no memory: the statement was undone. 1021, 1037, 1041, 1114, 1030 (with the engine's own number). */
const EXHAUSTED: ReadonlySet<number> = new Set([1021, 1030, 1037, 1041, 1114]);
const NO_ADMISSION: ReadonlySet<number> = new Set([
  NUMBER.too_many_connections,
  NUMBER.too_many_of_user,
  NUMBER.limit_of_user,
]);
const READ_ONLY: ReadonlySet<number> = new Set([NUMBER.read_only, NUMBER.is_read_only_transaction]);

const numberOf = (error: unknown): number => (error as DriverError).errno ?? 0;
const isOfServer = (error: unknown): boolean => numberOf(error) >= 1000;

export const isWorthAnotherTry = (error: unknown): boolean => TRY_AGAIN.has(numberOf(error));

/** The connection was lost, or the call was ended from outside, after the statement had been sent. */
export function isCutShort(error: unknown): boolean {
  const { code, fatal } = error as DriverError;
  return CUT_SHORT.has(numberOf(error)) || (!isOfServer(error) && (fatal === true || code !== undefined));
}

export const isMissingSchema = (error: unknown): boolean =>
  [NUMBER.no_database, NUMBER.no_table].includes(numberOf(error) as 1049);

/** An error that happened before anything took effect, or with nothing to take effect: as the contract names it. */
export function translated(error: unknown, options: MysqlOptions): unknown {
  const where = `${options.host}:${options.port}`;
  const number = numberOf(error);
  if (isCutShort(error) || NO_ADMISSION.has(number)) {
    return new StoreUnavailable(`MySQL at ${where} cannot be reached now (${nameOf(error)}).`);
  }
  if (isWorthAnotherTry(error)) {
    return new StoreUnavailable(`MySQL at ${where} is too busy: a lock was waited for in vain.`);
  }
  if (EXHAUSTED.has(number)) {
    return new StoreUnavailable(`MySQL at ${where} has no room left (${nameOf(error)}).`);
  }
  if (READ_ONLY.has(number))
    return new StoreUnavailable(`MySQL at ${where} takes no writes: it is read only.`);
  return error;
}

/** The same while a store is opened: what will not mend itself is refused, in a sentence for a person. */
export function translatedOnOpen(error: unknown, options: MysqlOptions): unknown {
  const where = `${options.host}:${options.port}`;
  switch (numberOf(error)) {
    case NUMBER.wrong_password:
      return new StoreRefused(
        `MySQL at ${where} does not let the user ${options.user} in. Check user and password in the URL.`,
      );
    case NUMBER.no_access_to_database:
    case NUMBER.command_denied:
    case NUMBER.procedure_denied:
      return new StoreRefused(
        `The user ${options.user} of MySQL at ${where} lacks rights in the database ${options.namespace}. docs/mysql.md lists them.`,
      );
    case NUMBER.no_procedure:
      return missingSchema(options);
    default:
      if (!isOfServer(error) && isCertificateFault(error))
        return certificateRefused(`MySQL at ${where}`, error);
      return isMissingSchema(error) ? missingSchema(options) : translated(error, options);
  }
}

export const missingSchema = ({ namespace }: MysqlOptions): StoreRefused =>
  new StoreRefused(`The database ${namespace} holds no store yet. Run: gen migrate --store URL`);

const nameOf = (error: unknown): string => {
  const { code, message } = error as DriverError;
  return code ?? message;
};
