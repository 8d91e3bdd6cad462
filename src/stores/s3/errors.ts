import { StoreUnavailable } from '../store.js';

/** What a failed call to S3 means. */
type S3Failure =
  | 'missing'
  /** A conditional write failed because the object exists. */
  | 'exists'
  /** The server does not support conditional writes. */
  | 'no_conditions'
  | StoreUnavailable;

interface S3DriverError {
  readonly name?: string;
  readonly code?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: unknown;
}

const ADVICE: Readonly<Record<string, string>> = {
  CredentialsProviderError:
    'No AWS credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.',
  InvalidAccessKeyId: 'S3 does not recognize these credentials. Check AWS_ACCESS_KEY_ID.',
  SignatureDoesNotMatch: 'S3 rejected the signature. Check AWS_SECRET_ACCESS_KEY and the system clock.',
  ExpiredToken: 'The AWS credentials have expired. Renew them, for example: aws sso login',
  NoSuchBucket: 'The S3 bucket of GENESIS_BLOBS does not exist. Create it, or correct its name.',
};
const NO_ACCESS =
  'These AWS credentials have no access to the S3 bucket of GENESIS_BLOBS. See docs/blobs.md for the IAM policy.';

/** Every write can be repeated, so an unknown outcome counts as not happened. Throws other errors unchanged. */
export function classifyS3Error(thrown: unknown): S3Failure {
  const error = thrown as S3DriverError;
  const name = error.name ?? '';
  const status = error.$metadata?.httpStatusCode;
  const advice = Object.hasOwn(ADVICE, name) ? ADVICE[name] : undefined;
  if (advice !== undefined) return new StoreUnavailable(advice);
  if (status === 404) return 'missing';
  if (status === 412) return 'exists';
  if (status === 501) return 'no_conditions';
  if (status === 403) return new StoreUnavailable(NO_ACCESS);
  const why = `${error.code ?? name}: ${(error.message ?? '').split('\n', 1)[0]}`;
  if (status === 409 || status === 429 || status === 503)
    return new StoreUnavailable(`S3 is busy (${why}). Try again.`);
  if (status !== undefined && status >= 400 && status < 500)
    return new StoreUnavailable(
      `S3 rejected the request (${why}). Check the bucket and the region of GENESIS_BLOBS.`,
    );
  const isTimeout = name === 'TimeoutError' || name === 'AbortError';
  if (status !== undefined || error.code !== undefined || error.$response !== undefined || isTimeout)
    return new StoreUnavailable(`S3 does not respond (${why}). Check that it is reachable.`);
  throw thrown;
}
