import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { type PostgresOptions, parsePostgresUrl } from '../options.js';

/** Namespaces and roles unique to this run: others use the same server, and an external server keeps them. */
export const uniqueName = (name: string): string => `${name}_${RUN}`;
const RUN = randomUUID().slice(0, 8);

/** A client of the database as a given user, beside the store. */
export async function asUser(url: string | PostgresOptions): Promise<pg.Client> {
  const { password, ...rest } = typeof url === 'string' ? parsePostgresUrl(url) : url;
  const client = new pg.Client({ ...rest, ...(password === null ? {} : { password }), ssl: false });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
