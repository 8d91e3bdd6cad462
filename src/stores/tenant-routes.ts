import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import { z } from 'zod';
import { PLATFORM_TENANT } from '../core/subject.js';
import { StoreRefused } from './store.js';

/**
 * Which store keeps which tenant:
 *
 *   default: postgres://fleet@db/fleet?namespace=fleet_{tenant}
 *   tenants:
 *     acme: postgres://fleet@acme-db/fleet
 *
 * `{tenant}` gives each tenant a name of its own in the URL, and so a schema, a database or a prefix.
 */
export interface TenantRoutes {
  readonly urlOf: (tenantId: string) => string;
  /** Where everything is kept that belongs to no tenant. */
  readonly defaultUrl: string;
  /** The tenants that have a line of their own. */
  readonly tenantIds: readonly string[];
}

const routesFile = z.strictObject({
  default: z.string().min(1),
  tenants: z.record(z.string().min(1), z.string().min(1)).optional(),
});

export function parseRoutes(text: string, file: string): TenantRoutes {
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
  return { urlOf, defaultUrl: urlOf(PLATFORM_TENANT), tenantIds: [...tenants.keys()] };
}

function parseYaml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new StoreRefused(`${file}: ${(error as Error).message}`);
  }
}

const PLAIN = /^[a-z0-9]{1,32}$/;

/** A name that every engine takes, and no two tenants share: what is not plain carries the digest of its id. */
export function tenantSlug(tenantId: string): string {
  if (PLAIN.test(tenantId)) return tenantId;
  const readable = tenantId
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .slice(0, 16);
  return `${readable}_${createHash('sha256').update(tenantId).digest('hex').slice(0, 12)}`;
}
