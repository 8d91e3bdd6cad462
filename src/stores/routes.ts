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
export interface Routes {
  readonly urlOf: (tenant_id: string) => string;
  /** Where everything is kept that belongs to no tenant. */
  readonly main_url: string;
  /** The tenants that have a line of their own. */
  readonly named: readonly string[];
}

const routesFile = z.strictObject({
  default: z.string().min(1),
  tenants: z.record(z.string().min(1), z.string().min(1)).optional(),
});

export function readRoutes(text: string, file: string): Routes {
  const read = routesFile.safeParse(parsed(text, file));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new StoreRefused(
      `${file}: ${issue?.path.join('.') || 'the file'}: ${issue?.message}. Expected default: URL, and tenants: { ID: URL }.`,
    );
  }
  const tenants = new Map(Object.entries(read.data.tenants ?? {}));
  const urlOf = (tenant_id: string) =>
    (tenants.get(tenant_id) ?? read.data.default).replaceAll('{tenant}', placeName(tenant_id));
  return { urlOf, main_url: urlOf(PLATFORM_TENANT), named: [...tenants.keys()] };
}

function parsed(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new StoreRefused(`${file}: ${(error as Error).message}`);
  }
}

const PLAIN = /^[a-z0-9]{1,32}$/;

/** A name that every engine takes, and no two tenants share: what is not plain carries the digest of its id. */
export function placeName(tenant_id: string): string {
  if (PLAIN.test(tenant_id)) return tenant_id;
  const spoken = tenant_id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .slice(0, 16);
  return `${spoken}_${createHash('sha256').update(tenant_id).digest('hex').slice(0, 12)}`;
}
