import { isIP } from 'node:net';
import { StoreRefused } from '../store.js';

export interface S3Options {
  readonly bucket: string;
  /** Empty, or ends with a slash. */
  readonly prefix: string;
  /** Null: taken from the AWS configuration of this machine. */
  readonly region: string | null;
  /** Null: AWS. */
  readonly endpoint: string | null;
  /** Whether the bucket is in the path of an object's URL, not in the host name. */
  readonly is_path_style: boolean;
  /** Whether the endpoint is an emulator, which needs no credentials. */
  readonly is_emulator: boolean;
}

type Variables = Readonly<Record<string, string | undefined>>;

const EXAMPLE = 's3://bucket/prefix';
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** The characters that S3 calls safe. One or two dots alone would be a relative path. */
const PREFIX_PART = /^(?!\.{1,2}$)[A-Za-z0-9!_.*'()-]+$/;
const PREFIX_LENGTH_MAX = 512;

/** Parses the URL of a bucket. Region, endpoint and credentials come from the variables that AWS tools use. */
export function parseS3Url(text: string, environment: Variables): S3Options {
  const [, login, bucket = '', path = ''] = /^s3:\/\/([^/]*@)?([^/?#]*)(.*)$/.exec(text) ?? [];
  if (login !== undefined)
    throw optionRefusal(
      'Credentials do not belong in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.',
    );
  if (!BUCKET.test(bucket) || bucket.includes('..') || isIP(bucket) !== 0)
    throw optionRefusal(`${JSON.stringify(bucket)} is not the name of an S3 bucket. Expected ${EXAMPLE}.`);
  const prefix = path.replace(/^\/|\/$/g, '');
  const isValidPrefix = prefix === '' || prefix.split('/').every((part) => PREFIX_PART.test(part));
  if (!isValidPrefix || prefix.length > PREFIX_LENGTH_MAX)
    throw optionRefusal(
      `The prefix ${JSON.stringify(prefix.slice(0, 64))} is not valid. Use at most ${PREFIX_LENGTH_MAX} ` +
        `letters, digits and ! _ . * ' ( ) - between single slashes, as in ${EXAMPLE}.`,
    );
  const endpoint = endpointOf(environment);
  return {
    bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region:
      environment.AWS_REGION || environment.AWS_DEFAULT_REGION || (isLocal(endpoint) ? 'us-east-1' : null),
    endpoint: endpoint?.origin ?? null,
    is_path_style: endpoint !== null && hasNoSubdomains(endpoint.hostname),
    is_emulator:
      isLocal(endpoint) &&
      environment.AWS_ACCESS_KEY_ID === undefined &&
      environment.AWS_PROFILE === undefined,
  };
}

function endpointOf(environment: Variables): URL | null {
  const name = environment.AWS_ENDPOINT_URL_S3 ? 'AWS_ENDPOINT_URL_S3' : 'AWS_ENDPOINT_URL';
  const text = environment[name];
  if (text === undefined || text === '') return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol)) return url;
  throw new StoreRefused(`${name} must be an http or https URL.`);
}

/** Whether a host is an address or a single name, so that `bucket.` before it would not resolve. */
const hasNoSubdomains = (host: string): boolean =>
  isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0 || !host.includes('.');

const isLocal = (endpoint: URL | null): boolean =>
  endpoint !== null && /^(127(\.\d+){3}|localhost|\[::1\])$/.test(endpoint.hostname);

const optionRefusal = (reason: string): StoreRefused => new StoreRefused(`GENESIS_BLOBS: ${reason}`);
