import type { Pool } from 'mysql2/promise';
import type { Blobs } from '../blobs.js';
import { queryRows, withConnection } from './connection.js';
import { toStoreError } from './errors.js';
import { nameBytes } from './name-encoding.js';
import type { MysqlOptions } from './options.js';
import { sql } from './queries.js';

const PART_BYTES = 1024 * 1024;
const SHA256 = /^[0-9a-f]{64}$/;

/** Blobs in a table, in parts small enough for any server. All parts of a blob become visible together. */
export class MysqlBlobs implements Blobs {
  constructor(
    private readonly pool: Pool,
    private readonly options: MysqlOptions,
  ) {}

  async put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    if ((await this.size(tenantId, sha256)) !== null) return;
    const key = keyOf(tenantId, sha256);
    await withConnection(this.pool, async (connection) => {
      await connection.beginTransaction();
      // An empty blob has one part too.
      for (let part = 0; part === 0 || part * PART_BYTES < bytes.byteLength; part += 1) {
        const piece = Buffer.from(bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES));
        await connection.execute(sql('put_blob'), [...key, part, piece]);
      }
      await connection.commit();
    }).catch((error: unknown) => {
      throw toStoreError(error, this.options);
    });
  }

  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    const rows = await queryRows(this.pool, this.options, sql('get_blob'), keyOf(tenantId, sha256));
    return rows.length === 0 ? null : new Uint8Array(Buffer.concat(rows.map(({ bytes }) => bytes as Buffer)));
  }

  async size(tenantId: string, sha256: string): Promise<number | null> {
    const [row] = await queryRows(this.pool, this.options, sql('size_of_blob'), keyOf(tenantId, sha256));
    return row?.size == null ? null : Number(row.size);
  }
}

function keyOf(tenantId: string, sha256: string): Buffer[] {
  // The hash comes from outside: invalid hex would name another blob.
  if (!SHA256.test(sha256)) throw new Error('The name of a blob must be its SHA-256.');
  return [nameBytes(tenantId), Buffer.from(sha256, 'hex')];
}
