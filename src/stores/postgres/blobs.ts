import type { Blobs } from '../blobs.js';
import type { PostgresPool } from './connection.js';

/** Blobs as rows, on the connections of their store, and closed with it. PostgreSQL stores up to 1 GB per row. */
export class PostgresBlobs implements Blobs {
  constructor(
    private readonly connections: PostgresPool,
    private readonly namespace: string,
    private readonly readRole: string,
  ) {}

  async put(tenantId: string, sha256: string, bytes: Uint8Array): Promise<void> {
    await this.connections.queryAsTenant(tenantId, 'none', {
      text: `INSERT INTO ${this.namespace}.blob (tenant_id, sha256, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
      values: [tenantId, sha256, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)],
    });
  }

  async get(tenantId: string, sha256: string): Promise<Uint8Array | null> {
    const found = await this.find<{ bytes: Buffer }>('bytes', tenantId, sha256);
    return found?.bytes ?? null;
  }

  async size(tenantId: string, sha256: string): Promise<number | null> {
    const found = await this.find<{ size: number }>('octet_length(bytes) AS size', tenantId, sha256);
    return found?.size ?? null;
  }

  private async find<Row extends object>(
    what: string,
    tenantId: string,
    sha256: string,
  ): Promise<Row | undefined> {
    const [row] = await this.connections.queryAsTenant<Row>(tenantId, this.readRole, {
      text: `SELECT ${what} FROM ${this.namespace}.blob WHERE tenant_id = $1 AND sha256 = $2`,
      values: [tenantId, sha256],
    });
    return row;
  }
}
