import type { Connection } from 'mysql2/promise';
import { expect, it } from 'vitest';
import { StoreRefused } from '../store.js';
import { checkWritable } from './preflight.js';

/** A server that reports the version of MariaDB 10.6.7, and returns this text as the value from JSON_TABLE. */
const serverAnswering = (text: string): Pick<Connection, 'query'> =>
  ({
    query: async (sql: string) => [
      sql.includes('JSON_TABLE') ? [{ text }] : [{ Variable_name: 'version', Value: '10.6.7-MariaDB' }],
    ],
  }) as unknown as Connection;

it('refuses a server whose JSON_TABLE leaves escapes in values', async () => {
  await expect(checkWritable(serverAnswering('\\"'))).rejects.toThrow(StoreRefused);
  await expect(checkWritable(serverAnswering('\\"'))).rejects.toThrow(
    /JSON_TABLE in 10\.6\.7-MariaDB returns wrong strings/,
  );
  expect((await checkWritable(serverAnswering('"')))('version')).toBe('10.6.7-MariaDB');
});
