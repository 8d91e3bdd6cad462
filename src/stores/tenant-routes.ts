import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import { z } from 'zod';
import { PLATFORM_TENANT } from '../core/subject.js';
import { StoreRefused } from './store.js';

/**
 * The mapping from tenants to stores:
 *
 *   default: postgres://fleet@db/fleet?namespace=fleet_{tenant}
 *   tenants:
 *     acme: postgres://fleet@acme-db/fleet
 *
 * `{tenant}` is replaced by a name unique to the tenant, which selects a schema, a database or a prefix.
 */
export type TenantRoutes = Readonly<ReturnType<typeof parseRoutes>>;

const routesFile = z.strictObject({
  default: z.string().min(1),
  tenants: z.record(z.string().min(1), z.string().min(1)).optional(),
});

export function parseRoutes(text: string, file: string) {
  const result = routesFile.safeParse(parseYaml(text, file));
  if (!result.success) {
    const [issue] = result.error.issues;
    throw new StoreRefused(
      `${file}: ${issue?.path.join('.') || 'the file'}: ${issue?.message}. Expected default: URL, and tenants: { ID: URL }.`,
    );
  }
  const tenants = new Map(Object.entries(result.data.tenants ?? {}));
  const urlOf = (tenantId: string) =>
    (tenants.get(tenantId) ?? result.data.default).replaceAll('{tenant}', tenantSlug(tenantId));
  return {
    urlOf,
    /** The store for data that belongs to no tenant. */
    defaultUrl: urlOf(PLATFORM_TENANT),
    /** The tenants with an entry. */
    tenantIds: [...tenants.keys()],
  };
}

function parseYaml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new StoreRefused(`${file}: ${(error as Error).message}`);
  }
}

const PLAIN_TENANT_ID = /^[a-z0-9]{1,32}$/;

/** A unique name for a tenant that every database accepts. An id that is not plain gets a digest suffix. */
export function tenantSlug(tenantId: string): string {
  if (PLAIN_TENANT_ID.test(tenantId)) return tenantId;
  const readable = tenantId
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .slice(0, 16);
  return `${readable}_${createHash('sha256').update(tenantId).digest('hex').slice(0, 12)}`;
}
