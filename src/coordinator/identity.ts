import { createHmac, createSecretKey, type KeyObject, hash as oneShotHash } from 'node:crypto';
import { v5 as uuidFromName, v7 as uuidFromTime } from 'uuid';
import type { ClaimIdOf } from '../core/claims/commands.js';
import type { ProjectKey, StoreMeta } from '../stores/store.js';
import type { Environment } from './environment.js';

export const sha256Hex = (data: string | Uint8Array): string => oneShotHash('sha256', data, 'hex');

/** Short, and as safe as is needed to tell one body from another under one request id. */
export const bodyDigest = (body: unknown): string =>
  oneShotHash('sha256', JSON.stringify(body), 'base64url').slice(0, 22);

/** JSON with sorted keys: the same data gives the same bytes, whoever wrote it. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const record = value as Record<string, unknown>;
  const members = Object.keys(record)
    .filter((key) => record[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(record[key])}`);
  return `{${members.join(',')}}`;
}

/**
 * The claim id is derived, never stored: a replayed grant can tell it again, and a stolen log cannot.
 * The incarnation is in it, so a handle from before a loss of history opens nothing after it.
 */
export function claimIds(key: ClaimKey, project: ProjectKey, subject: string): ClaimIdOf {
  return ({ generation, request_id }) => {
    const { tenant_id, project_id } = project;
    const named = JSON.stringify([tenant_id, project_id, subject, key.incarnation, generation, request_id]);
    return `clm_${createHmac('sha256', key.secret).update(named).digest('base64url').slice(0, 22)}`;
  };
}

/** What claim ids are derived with. */
export interface ClaimKey {
  readonly incarnation: number;
  readonly secret: KeyObject;
}

export const claimKeyOf = (meta: StoreMeta): ClaimKey => ({
  incarnation: meta.incarnation,
  secret: createSecretKey(meta.secret, 'utf8'),
});

export const newEventId = (environment: Environment, at_ms: number): string =>
  uuidFromTime({ msecs: at_ms, random: environment.randomBytes(16) });

const NOTE_NAMESPACE = '0f5e3a52-6d0b-5d5e-9a55-8c1f6b7d2c11';

/** Refusals are named by what they refuse, so that the same refusal is written down once. */
export const noteId = (parts: readonly (string | number)[]): string =>
  uuidFromName(JSON.stringify(parts), NOTE_NAMESPACE);
