import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { MissingDatabase, TestDatabase } from '../../testing/database.js';
import { findInstalledProgram } from '../../testing/program.js';
import { newServerLocation, ServerProcess } from '../../testing/server-process.js';

const PROGRAM = fileURLToPath(new URL('./s3-server.py', import.meta.url));

/** A server of moto, an emulator of S3. `url` is its endpoint. */
export interface S3TestServer extends TestDatabase {
  readonly client: S3Client;
  /** Creates a bucket, and returns its name. */
  createBucket(): Promise<string>;
}

export async function startS3Server(): Promise<S3TestServer | MissingDatabase> {
  const python = findInstalledProgram('python3');
  if (python === null) return { missing: 'python3 is not installed' };
  if (spawnSync(python, [PROGRAM]).status !== 0)
    return { missing: 'python3 has no moto with its server (pip install "moto[s3,server]")' };
  const location = await newServerLocation('s3');
  const endpoint = `http://127.0.0.1:${location.port}`;
  const isReady = () =>
    fetch(endpoint).then(
      () => true,
      () => false,
    );
  const serverCommand = () => ({ program: python, args: [PROGRAM, String(location.port)] });
  const server = await ServerProcess.start(
    { name: 'The S3 server', command: serverCommand, isReady },
    location,
  );
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const createBucket = async () => {
    const bucket = `b-${randomUUID()}`;
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    return bucket;
  };
  return { url: endpoint, client, createBucket, stop: server.stop };
}
