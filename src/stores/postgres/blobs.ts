import type { Blobs } from '../blobs.js';
import type { PostgresPool } from './connection.js';
import { sql } from './queries.js';

/** Blobs as rows, on the connections of their store, and closed with it. PostgreSQL stores up to 1 GB per row. */
export class PostgresBlobs implements Blobs {
  constructor(
    private readonly connections: PostgresPool,
    private readonly namespace: string,
    private readonly readRole: string,
  ) {}

  async put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    await this.connections.queryAsTenant('none', [tenantId], {
      text: sql('put_blob', { namespace: this.namespace }),
      values: [tenantId, sha256, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)],
    });
  }

  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    const row = await this.queryRow<{ bytes: Buffer }>('get_blob', tenantId, sha256);
    return row?.bytes ?? null;
  }

  async size(tenantId: string, sha256: string): Promise<number | null> {
    const row = await this.queryRow<{ size: number }>('size_of_blob', tenantId, sha256);
    return row?.size ?? null;
  }

  private async queryRow<Row extends object>(statement: string, tenantId: string, sha256: string) {
    const [row] = await this.connections.queryAsTenant<Row>(this.readRole, [tenantId], {
      text: sql(statement, { namespace: this.namespace }),
      values: [tenantId, sha256],
    });
    return row;
  }
}
