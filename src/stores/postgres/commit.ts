import { randomUUID } from 'node:crypto';
import { sendOnce } from '../send-once.js';
import type { PostgresPool } from './connection.js';
import { classifyError, toStoreError } from './errors.js';
import { sql } from './queries.js';

/** Calls the commit function once for a batch, and returns its reply. */
export function sendBatch(connections: PostgresPool, namespace: string, values: unknown[]): Promise<string> {
  const statement = { name: 'commit', text: sql('commit', { namespace }), values: [randomUUID(), ...values] };
  let isSent = false;
  const send = () =>
    connections.withClient(async (client) => {
      isSent = true;
      return (await client.query<{ answer: string }>(statement)).rows[0]?.answer as string;
    });
  return sendOnce('PostgreSQL', send, {
    isReplyLost: (error) => isSent && classifyError(error) === 'lost',
    isRetryable: (error) => classifyError(error) === 'again',
    toStoreError,
  });
}
