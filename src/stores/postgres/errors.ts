import { certificateError, isCertificateError } from '../certificate.js';
import { StoreBroken, StoreRefused, StoreUnavailable } from '../store.js';
import type { PostgresOptions } from './options.js';

/**
 * `lost`: the connection was lost, and the statement may have happened. `again`: rolled back, an immediate retry may
 * succeed. `unavailable`: rolled back, a later retry may succeed. `inaccessible`: the schema is missing, or this user
 * may not use it.
 */
type PostgresFailure = 'lost' | 'again' | 'unavailable' | 'inaccessible' | 'bug';

const LOST = /^(08...|57P01|57P02|57P05)$/;
const RETRYABLE_SQLSTATE = /^(40001|40P01|55P03)$/;
const UNAVAILABLE = /^(53...|57014|57P03|25006|58030)$/;
const INACCESSIBLE = /^(3F000|42P01|42883|3D000|28...|42501)$/;
/** Driver messages about a lost connection, which have no code. */
const LOST_TEXT =
  /Connection terminated|Query read timeout|not queryable|Client was closed|timeout exceeded|timeout expired|after calling end/;

export function classifyError(error: unknown): PostgresFailure {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string') {
    if (LOST.test(code) || /^E[A-Z_]+$/.test(code)) return 'lost';
    if (RETRYABLE_SQLSTATE.test(code)) return 'again';
    if (UNAVAILABLE.test(code)) return 'unavailable';
    if (INACCESSIBLE.test(code)) return 'inaccessible';
  }
  return LOST_TEXT.test(String(message)) || isCertificateError(error) ? 'lost' : 'bug';
}

/** Maps the error of a read, or of a commit that did not happen, to an error of the store contract. */
export function toStoreError(error: unknown): unknown {
  switch (classifyError(error)) {
    case 'bug':
      return error;
    case 'inaccessible':
      return new StoreBroken(
        `The PostgreSQL schema is missing or not accessible (${errorMessageOf(error)}). Check that it exists and that the user may log in and use it, then restart the server.`,
      );
    default:
      return new StoreUnavailable(
        `PostgreSQL cannot serve the request now (${errorMessageOf(error)}). Try again.`,
      );
  }
}

/** Explains to a person why a store did not open. */
export function toOpeningError(error: unknown, options: PostgresOptions): unknown {
  const { host, port, user, database, namespace } = options;
  const where = `PostgreSQL at ${host}:${port}`;
  const message = errorMessageOf(error);
  switch ((error as { code?: unknown }).code) {
    case '28P01':
    case '28000':
      return new StoreRefused(`${where} rejected the login of ${user}: ${message}. Check user and password.`);
    case '3D000':
      return new StoreRefused(
        `There is no database ${database} at ${host}:${port}. Run: createdb ${database}`,
      );
    case '42501':
      return new StoreRefused(
        `${user} has no access to the schema ${namespace}: ${message}. Run: GRANT ${namespace}_write, ${namespace}_read TO ${user}`,
      );
    case 'ENOTFOUND':
      return new StoreRefused(`The host ${host} was not found. Check the store URL.`);
  }
  if (isCertificateError(error)) return certificateError(where, error);
  if (/SSL/.test(message)) return new StoreRefused(`${where}: ${message}. Check sslmode.`);
  if (classifyError(error) !== 'lost') return toStoreError(error);
  return new StoreUnavailable(
    `${where} does not respond (${message}). Check that it is running and that the URL is correct.`,
  );
}

/** The driver puts no passwords into messages. The error of a failed connection to several addresses has only a code. */
function errorMessageOf(error: unknown): string {
  const { message, code } = error as { message?: unknown; code?: unknown };
  return String(message || code || error);
}
