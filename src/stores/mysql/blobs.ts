import type { Pool, RowDataPacket } from 'mysql2/promise';
import type { Blobs } from '../blobs.js';
import { withConnection } from './connection.js';
import { toStoreError } from './errors.js';
import { nameBytes } from './name-encoding.js';
import type { MysqlOptions } from './options.js';

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
    await this.translateErrors(() =>
      withConnection(this.pool, async (connection) => {
        await connection.beginTransaction();
        // An empty blob has one part too.
        for (let part = 0; part === 0 || part * PART_BYTES < bytes.byteLength; part += 1) {
          const piece = Buffer.from(bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES));
          await connection.execute(
            `INSERT INTO blobs (tenant_id, sha256, part, bytes) VALUES (?, ?, ?, ?)
             ON DUPLICATE KEY UPDATE part = part`,
            [...key, part, piece],
          );
        }
        await connection.commit();
      }),
    );
  }

  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    const rows = await this.rows('SELECT bytes FROM blobs WHERE tenant_id = ? AND sha256 = ? ORDER BY part', [
      ...keyOf(tenantId, sha256),
    ]);
    return rows.length === 0 ? null : new Uint8Array(Buffer.concat(rows.map(({ bytes }) => bytes as Buffer)));
  }

  async size(tenantId: string, sha256: string): Promise<number | null> {
    const [row] = await this.rows(
      'SELECT SUM(LENGTH(bytes)) AS size FROM blobs WHERE tenant_id = ? AND sha256 = ?',
      keyOf(tenantId, sha256),
    );
    return row?.size == null ? null : Number(row.size);
  }

  private rows(sql: string, values: Buffer[]): Promise<RowDataPacket[]> {
    return this.translateErrors(async () => {
      const timeout = this.options.statement_timeout_ms;
      const [rows] = await this.pool.query<RowDataPacket[]>({ sql, timeout, values });
      return rows;
    });
  }

  private async translateErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toStoreError(error, this.options);
    }
  }
}

function keyOf(tenantId: string, sha256: string): Buffer[] {
  // The hash comes from outside: invalid hex would name another blob.
  if (!SHA256.test(sha256)) throw new Error('a blob is named by its SHA-256');
  return [nameBytes(tenantId), Buffer.from(sha256, 'hex')];
}
