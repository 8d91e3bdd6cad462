import { StoreUnavailable } from '../store.js';

/** The result of a failed call: all that a caller needs to know about a driver error. */
export type DynamodbFailure =
  /** A condition did not hold; the reasons are in the order of the writes. */
  | { readonly kind: 'cancelled'; readonly reasons: readonly CancellationReason[] }
  /** Nothing happened, and a retry may succeed: throttled, or in conflict with another transaction. */
  | { readonly kind: 'busy' }
  /** Nothing happened: the database was never reached. */
  | { readonly kind: 'unreached'; readonly why: string }
  /** The database was reached, but the effect of the call is unknown. */
  | { readonly kind: 'unknown'; readonly why: string }
  /** Nothing happened, and a retry cannot succeed. */
  | { readonly kind: 'refused'; readonly sentence: string };

interface CancellationReason {
  readonly Code?: string;
  readonly Message?: string;
  readonly Item?: Record<string, unknown>;
}

interface DynamodbDriverError {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly CancellationReasons?: readonly CancellationReason[];
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: unknown;
}

const BUSY = new Set([
  'ProvisionedThroughputExceededException',
  'ProvisionedThroughputExceeded',
  'ThrottlingException',
  'ThrottlingError',
  'RequestLimitExceeded',
  'LimitExceededException',
  'TransactionConflictException',
  'TransactionConflict',
  'TransactionInProgressException',
  'ReplicatedWriteConflictException',
]);

const UNREACHED = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/;

const MESSAGES: Readonly<Record<string, string>> = {
  CredentialsProviderError:
    'No AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.',
  UnrecognizedClientException:
    'AWS does not recognize these credentials. Check AWS_ACCESS_KEY_ID and the region.',
  InvalidSignatureException: 'AWS rejected the signature. Check AWS_SECRET_ACCESS_KEY and the system clock.',
  ExpiredTokenException: 'The AWS credentials have expired. Renew them, for example: aws sso login',
  AccessDeniedException:
    'These AWS credentials have no access to the tables. See docs/dynamodb.md for the IAM policy.',
  ResourceNotFoundException: 'A DynamoDB table is missing. Run: gen migrate --store URL',
};

export function classifyError(thrown: unknown): DynamodbFailure {
  const error = thrown as DynamodbDriverError;
  const name = error.name ?? '';
  if (error.CancellationReasons !== undefined) return failureOfCancellation(error.CancellationReasons);
  if (BUSY.has(name)) return { kind: 'busy' };
  const sentence = Object.hasOwn(MESSAGES, name) ? MESSAGES[name] : undefined;
  if (sentence !== undefined) return { kind: 'refused', sentence };
  const why = `${error.code ?? name}: ${(error.message ?? '').split('\n', 1)[0]}`;
  if (UNREACHED.test(error.code ?? '') || isConnectTimeout(error)) return { kind: 'unreached', why };
  const status = error.$metadata?.httpStatusCode;
  if (status !== undefined && status >= 400 && status < 500) {
    return {
      kind: 'refused',
      sentence: `DynamoDB rejected the request: ${why}. Check the region, the credentials and the tables of --store.`,
    };
  }
  const isConnectionError =
    error.code !== undefined || name === 'TimeoutError' || error.$response !== undefined;
  if (isConnectionError || (status !== undefined && status >= 500)) return { kind: 'unknown', why };
  throw thrown;
}

/** Throttling and conflicts say nothing about our conditions, unless one of those failed as well. */
function failureOfCancellation(reasons: readonly CancellationReason[]): DynamodbFailure {
  if (reasons.some(({ Code }) => Code === 'ConditionalCheckFailed')) return { kind: 'cancelled', reasons };
  if (reasons.some(({ Code }) => BUSY.has(Code ?? ''))) return { kind: 'busy' };
  const reason = reasons.find(({ Code }) => Code !== 'None');
  return {
    kind: 'refused',
    sentence: `DynamoDB rejected the transaction: ${reason?.Code}, ${reason?.Message}. Check the tables of --store; if they are right, report this message.`,
  };
}

/** The driver reports every lost connection as a timeout. Only a timeout while connecting proves that nothing was sent. */
const isConnectTimeout = ({ name, message }: DynamodbDriverError): boolean =>
  name === 'TimeoutError' && /did not establish a connection/.test(message ?? '');

/**
 * The error of a failed call. An unknown result counts as not happened, because all calls but a transaction may be repeated.
 * `DynamoClient.transact` reports an unknown result of a transaction as `StoreUncertain` instead.
 */
export function toStoreError(failure: DynamodbFailure): Error {
  switch (failure.kind) {
    case 'refused':
      return new StoreUnavailable(failure.sentence);
    case 'busy':
      return new StoreUnavailable(
        'DynamoDB throttled the call or reported a conflict until the retry limit. Try again.',
      );
    case 'unreached':
    case 'unknown':
      return new StoreUnavailable(`DynamoDB does not respond (${failure.why}). Check that it is reachable.`);
    case 'cancelled':
      return new Error('A condition failed in a request that has none.');
  }
}
