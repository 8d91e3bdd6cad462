import { parseDatabaseUrl } from '../database-url.js';
import { StoreRefused } from '../store.js';

export type DynamodbOptions = Readonly<ReturnType<typeof parseDynamodbUrl>>;

const FORMAT = {
  database: 'DynamoDB',
  schemes: ['dynamodb'],
  parameters: ['endpoint'],
  example: 'dynamodb://REGION/PREFIX?endpoint=URL',
};

/** Parses the URL of a DynamoDB store. Credentials come from the environment, as usual for AWS. */
export function parseDynamodbUrl(text: string) {
  const url = parseDatabaseUrl(text, FORMAT);
  if (url.username !== '' || url.password !== '') {
    throw new StoreRefused(
      'Credentials do not belong in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    );
  }
  if (!/^[a-z]{2,}(-[a-z]+)+-\d$/.test(url.hostname)) {
    throw new StoreRefused(
      `${JSON.stringify(url.hostname)} is not an AWS region. Expected ${FORMAT.example}`,
    );
  }
  const namespace = url.pathname.replace(/^\/|\/$/g, '') || 'genesis_fleet';
  // The characters DynamoDB allows in a table name, short enough for our suffix.
  if (!/^[A-Za-z0-9_.-]{1,200}$/.test(namespace)) {
    throw new StoreRefused(`${namespace} is not a valid table prefix. Use 1 to 200 letters, digits, _ . -`);
  }
  return {
    region: url.hostname,
    /** Tables are called `<namespace>-state`, `<namespace>-log` and so on. */
    namespace,
    /** Null: AWS. */
    endpoint: endpointOf(url.searchParams.get('endpoint')),
    /** Timeout of one call. */
    reply_ms: 3_000,
    /** How long a call is retried. */
    patience_ms: 10_000,
    /** How long a commit that loses to concurrent commits is retried, counted from its last progress. */
    contention_ms: 15_000,
  };
}

function endpointOf(endpoint: string | null): string | null {
  if (endpoint === null) return null;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url.origin;
  throw new StoreRefused(
    `The endpoint ${endpoint} is not an http or https URL. Expected endpoint=http://HOST:PORT`,
  );
}

/** An endpoint on this machine is an emulator: it requires credentials but does not check them. */
export const isLoopbackEndpoint = (endpoint: string | null): boolean =>
  endpoint !== null && /^(127(\.\d+){3}|localhost|\[::1\])$/.test(new URL(endpoint).hostname);
