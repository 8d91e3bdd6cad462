import { StoreRefused } from '../store.js';

export interface DynamodbOptions {
  readonly region: string;
  /** Tables are called `<namespace>-state`, `<namespace>-events` and so on. */
  readonly namespace: string;
  /** Null: AWS. */
  readonly endpoint: string | null;
  /** Timeout of one call. */
  readonly reply_ms: number;
  /** How long a call is retried. */
  readonly patience_ms: number;
  /** How long a commit that loses to concurrent commits is retried, counted from its last progress. */
  readonly contention_ms: number;
}

const REPLY_MS = 3_000;
const PATIENCE_MS = 10_000;
const CONTENTION_MS = 15_000;

const SHAPE = 'dynamodb://REGION/PREFIX?endpoint=URL';
const REGION = /^[a-z]{2,}(-[a-z]+)+-\d$/;
/** The characters DynamoDB allows in a table name, short enough for our suffix. */
const NAMESPACE = /^[A-Za-z0-9_.-]{1,200}$/;
const DEFAULT_NAMESPACE = 'genesis_fleet';

/**
 * Parses `dynamodb://eu-west-1/genesis_fleet?endpoint=http://127.0.0.1:8000`. Credentials come from the environment, as
 * usual for AWS.
 */
export function parseDynamodbUrl(text: string): DynamodbOptions {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'dynamodb:') throw new StoreRefused(`Not a DynamoDB URL. It looks like ${SHAPE}`);
  if (url.username !== '' || url.password !== '') {
    throw new StoreRefused(
      'Credentials do not belong in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    );
  }
  if (!REGION.test(url.hostname))
    throw new StoreRefused(`${url.hostname || 'Nothing'} is no AWS region. ${SHAPE}`);
  const namespace = url.pathname.replace(/^\/|\/$/g, '') || DEFAULT_NAMESPACE;
  if (!NAMESPACE.test(namespace)) {
    throw new StoreRefused(`${namespace} cannot begin the name of a table: letters, digits, _ . - only.`);
  }
  return {
    region: url.hostname,
    namespace,
    endpoint: endpointOf(url),
    reply_ms: REPLY_MS,
    patience_ms: PATIENCE_MS,
    contention_ms: CONTENTION_MS,
  };
}

function endpointOf(url: URL): string | null {
  for (const name of url.searchParams.keys()) {
    if (name !== 'endpoint') throw new StoreRefused(`A DynamoDB URL knows no ${name}. ${SHAPE}`);
  }
  const endpoint = url.searchParams.get('endpoint');
  if (endpoint === null) return null;
  const parsed = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw new StoreRefused(`The endpoint ${endpoint} is no http or https URL.`);
  }
  return parsed.origin;
}

/** An endpoint on this machine is an emulator: it requires credentials but does not check them. */
export const isLoopback = (endpoint: string | null): boolean =>
  endpoint !== null && /^(127(\.\d+){3}|localhost|\[::1\])$/.test(new URL(endpoint).hostname);
