import { hash } from 'node:crypto';
import type { HeadObjectCommandOutput, S3Client } from '@aws-sdk/client-s3';
import type { BlobReference } from '../../core/engine/run-data.js';
import type { Blobs } from '../blobs.js';
import { folderName } from '../file/layout.js';
import { loadDriver } from '../load-driver.js';
import { StoreRefused, StoreUnavailable } from '../store.js';
import { classifyS3Error } from './errors.js';
import type { S3Options } from './options.js';

type S3Driver = typeof import('@aws-sdk/client-s3');

const SHA256 = /^[0-9a-f]{64}$/;
/** Larger than any result, and than any file of a draft. */
export const S3_BLOB_BYTES_MAX = 64 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 3_000;
/** The time limit of one attempt without progress. */
const REPLY_TIMEOUT_MS = 30_000;
/** The time limit of a whole operation with its retries. */
const OPERATION_TIMEOUT_MS = 120_000;
const ATTEMPTS_MAX = 3;
const CONNECTIONS_MAX = 64;

/**
 * Blobs as objects of an S3 bucket, with the paths that a folder of blobs has: `prefix/tenant/ab/sha256`. S3 verifies the
 * digest of what is written, and a read verifies it again.
 */
export class S3Blobs implements Blobs {
  private constructor(
    private readonly driver: S3Driver,
    private readonly client: S3Client,
    private readonly options: S3Options,
  ) {}

  /** Refuses a bucket that is missing or cannot be used. */
  static async open(options: S3Options): Promise<S3Blobs> {
    const driver = await loadDriver('@aws-sdk/client-s3', () => import('@aws-sdk/client-s3'));
    const client = new driver.S3Client({
      ...(options.region === null ? {} : { region: options.region }),
      ...(options.endpoint === null ? {} : { endpoint: options.endpoint }),
      ...(options.is_emulator ? { credentials: { accessKeyId: 'local', secretAccessKey: 'local' } } : {}),
      forcePathStyle: options.is_path_style,
      followRegionRedirects: true,
      maxAttempts: ATTEMPTS_MAX,
      // The store sends its own digests. Some servers do not support the checksums that the driver would add.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        requestTimeout: REPLY_TIMEOUT_MS,
        socketTimeout: REPLY_TIMEOUT_MS,
        throwOnRequestTimeout: true,
        httpAgent: { maxSockets: CONNECTIONS_MAX, keepAlive: true },
        httpsAgent: { maxSockets: CONNECTIONS_MAX, keepAlive: true },
      },
    });
    const blobs = new S3Blobs(driver, client, options);
    await blobs.assertUsable();
    return blobs;
  }

  async put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength > S3_BLOB_BYTES_MAX)
      throw new Error(
        `A blob has ${bytes.byteLength} bytes: the maximum is ${S3_BLOB_BYTES_MAX}. Split it into smaller files.`,
      );
    const key = this.keyOf(tenantId, sha256);
    const outcome = await this.write(key, sha256, bytes, { IfNoneMatch: '*' });
    if (outcome === 'written') return;
    const isComplete = (await this.head(key))?.ContentLength === bytes.byteLength;
    if (!isComplete) await this.write(key, sha256, bytes, {});
  }

  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    const bytes = await this.read(this.keyOf(tenantId, sha256));
    if (bytes !== null && hash('sha256', bytes, 'hex') !== sha256) throw damagedBlobError(sha256);
    return bytes;
  }

  async size(tenantId: string, sha256: string): Promise<number | null> {
    return (await this.head(this.keyOf(tenantId, sha256)))?.ContentLength ?? null;
  }

  async referenceOf(tenantId: string, sha256: string): Promise<BlobReference | null> {
    const key = this.keyOf(tenantId, sha256);
    const reply = await this.head(key);
    // A bucket without versions has none.
    return reply === null ? null : { bucket: this.options.bucket, key, version: reply.VersionId ?? '' };
  }

  close(): void {
    this.client.destroy();
  }

  private async write(
    Key: string,
    sha256: string,
    Body: Uint8Array,
    condition: { readonly IfNoneMatch?: '*' },
  ): Promise<'written' | 'not_written'> {
    const { bucket: Bucket } = this.options;
    const ChecksumSHA256 = Buffer.from(sha256, 'hex').toString('base64');
    const input = { Bucket, Key, Body, ContentLength: Body.byteLength, ChecksumSHA256, ...condition };
    const reply = await this.call((abortSignal) =>
      this.client.send(new this.driver.PutObjectCommand(input), { abortSignal }),
    );
    if (typeof reply !== 'string') return 'written';
    if (reply === 'missing' || condition.IfNoneMatch === undefined)
      throw new StoreUnavailable(`S3 did not write an object (${reply}). Check the bucket of GENESIS_BLOBS.`);
    return 'not_written';
  }

  private async head(Key: string): Promise<HeadObjectCommandOutput | null> {
    const input = { Bucket: this.options.bucket, Key };
    const reply = await this.call((abortSignal) =>
      this.client.send(new this.driver.HeadObjectCommand(input), { abortSignal }),
    );
    return typeof reply === 'string' ? nullIfMissing(reply) : reply;
  }

  private async read(Key: string): Promise<Uint8Array | null> {
    const input = { Bucket: this.options.bucket, Key };
    const reply = await this.call(async (abortSignal) => {
      const { Body } = await this.client.send(new this.driver.GetObjectCommand(input), { abortSignal });
      return readBounded(Body as AsyncIterable<Uint8Array>, input);
    });
    return typeof reply === 'string' ? nullIfMissing(reply) : reply;
  }

  private async assertUsable(): Promise<void> {
    await this.client.config.region().catch(() => {
      throw new StoreRefused(
        "GENESIS_BLOBS: no AWS region is configured. Set AWS_REGION to the bucket's region.",
      );
    });
    const { bucket: Bucket } = this.options;
    const reply = await this.call((abortSignal) =>
      this.client.send(new this.driver.HeadBucketCommand({ Bucket }), { abortSignal }),
    ).catch((error: unknown) => {
      this.close();
      throw error;
    });
    if (reply !== 'missing') return;
    this.close();
    throw new StoreRefused(
      `GENESIS_BLOBS: the S3 bucket ${Bucket} does not exist. Create it, or correct the name.`,
    );
  }

  /** The result of a call, or a failure that counts as one, such as `missing`. Other failures are `StoreUnavailable`. */
  private async call<T extends object>(work: (abortSignal: AbortSignal) => Promise<T>) {
    try {
      return await work(AbortSignal.timeout(OPERATION_TIMEOUT_MS));
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      const failure = classifyS3Error(error);
      if (typeof failure !== 'string') throw failure;
      return failure;
    }
  }

  private keyOf(tenantId: string, sha256: string): string {
    // The hash comes from outside: anything else must not become part of a key.
    if (!SHA256.test(sha256)) throw new Error('The name of a blob must be its SHA-256.');
    return `${this.options.prefix}${folderName(tenantId)}/${sha256.slice(0, 2)}/${sha256}`;
  }
}

async function readBounded(
  body: AsyncIterable<Uint8Array>,
  { Bucket, Key }: { readonly Bucket: string; readonly Key: string },
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > S3_BLOB_BYTES_MAX)
      throw new StoreUnavailable(
        `The object ${Key} of the S3 bucket ${Bucket} has more than ${S3_BLOB_BYTES_MAX} bytes, so Genesis Fleet did not write it. Remove it, or use another prefix in GENESIS_BLOBS.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function nullIfMissing(failure: string): null {
  if (failure === 'missing') return null;
  throw new StoreUnavailable(
    `S3 replied to a read with an unexpected error (${failure}). Try again; if it happens again, check that the endpoint of GENESIS_BLOBS is an S3 service.`,
  );
}

const damagedBlobError = (sha256: string): StoreUnavailable =>
  new StoreUnavailable(
    `The blob ${sha256} in the S3 bucket is not what was written. Restore it from a version or a backup.`,
  );
