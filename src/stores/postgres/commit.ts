import { randomUUID } from 'node:crypto';
import { sendOnce } from '../send-once.js';
import type { PostgresPool } from './connection.js';
import { classifyError, toStoreError } from './errors.js';
import { sql } from './queries.js';

/** Calls a commit function until its outcome is known, so that a batch takes effect once. Returns the function's reply. */
export function sendBatch(
  connections: PostgresPool,
  namespace: string,
  name: string,
  values: readonly unknown[],
): Promise<string | null> {
  const parameters = Array.from({ length: values.length + 1 }, (_, index) => `$${index + 1}`).join();
  const text = sql(name, { namespace, parameters });
  const statement = { name, text, values: [randomUUID(), ...values] };
  let isSent = false;
  const send = () =>
    connections.withClient(async (client) => {
      isSent = true;
      const { rows } = await client.query<{ reply: string | null }>(statement);
      return rows[0]?.reply ?? null;
    });
  return sendOnce('PostgreSQL', send, {
    isReplyLost: (error) => isSent && classifyError(error) === 'lost',
    isRetryable: (error) => classifyError(error) === 'again',
    toStoreError,
  });
}
