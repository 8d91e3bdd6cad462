import { hash as oneShotHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { v5 as uuidFromName, v7 as uuidFromTime } from 'uuid';
import type { ClaimIdOf } from '../../core/claims/commands.js';
import type { DeriveEventId } from '../../core/events/foreign-log.js';
import type { ProjectKey, StoreMeta } from '../../stores/store.js';
import type { Environment } from './environment.js';

export const sha256Hex = (data: string | Uint8Array): string => oneShotHash('sha256', data, 'hex');

/** Distinguishes bodies sent under one request id. Guards against mistakes, not attacks. */
export const textDigest = (text: string): string => `${text.length.toString(36)}-${base36(crc32(text))}`;

const LOW_DIGITS = 3;
const LOW_RANGE = 36 ** LOW_DIGITS;

// Hot path, runs for every command: formatting a 32-bit number in two halves takes a fraction of the time.
function base36(value: number): string {
  const high = Math.floor(value / LOW_RANGE);
  if (high === 0) return value.toString(36);
  return high.toString(36) + (value % LOW_RANGE).toString(36).padStart(LOW_DIGITS, '0');
}

/**
 * Derives the claim id of a grant. The id is never stored: the coordinator derives it again for a repeated request,
 * and a stolen log does not reveal it. It depends on the incarnation, so a loss of history invalidates handles.
 * Keyed hash: SHA-256 over the secret, which comes first and has a fixed length, and the grant. The digest is
 * truncated, so length extension cannot yield another grant's id.
 */
export function claimIdDeriver(key: string, subject: string): ClaimIdOf {
  return ({ generation, request_id }) => {
    const grant = `${key}${subject}\n${generation}\n${request_id ?? ''}`;
    return `clm_${oneShotHash('sha256', grant, 'base64url').slice(0, 22)}`;
  };
}

/** The secret from which a project's claim ids derive. Line breaks separate its parts: no name or subject contains one. */
export const claimIdSecretOf = (meta: StoreMeta, { tenant_id, project_id }: ProjectKey): string =>
  `${meta.secret}\n${meta.incarnation}\n${tenant_id}\n${project_id}\n`;

export function newEventId(environment: Environment, atMs: number): string {
  uuidFromTime({ msecs: atMs, random: environment.randomBytes(16) }, idBytes);
  return uuidText(idBytes);
}

const idBytes = new Uint8Array(16);
const idText = Buffer.from('00000000-0000-0000-0000-000000000000');
const HEX_DIGITS = Buffer.from('0123456789abcdef');
const HYPHEN = 0x2d;

// Hot path, runs for every event: joining strings would leave some thirty short strings to the garbage collector.
function uuidText(bytes: Uint8Array): string {
  let at = 0;
  for (const byte of bytes) {
    if (idText[at] === HYPHEN) at += 1;
    idText[at] = HEX_DIGITS[byte >> 4] as number;
    idText[at + 1] = HEX_DIGITS[byte & 15] as number;
    at += 2;
  }
  return idText.toString('latin1');
}

const CONTENT_ID_NAMESPACE = '0f5e3a52-6d0b-5d5e-9a55-8c1f6b7d2c11';

/** Derives an event id from content, so that an event with the same content is recorded once. */
export const contentEventId = (parts: readonly (string | number)[]): string =>
  uuidFromName(JSON.stringify(parts), CONTENT_ID_NAMESPACE);

/**
 * Derives ids for lines of a foreign log from the project, the text
 * and its occurrence, since such lines have no reliable id.
 */
export const foreignEventIdFor =
  ({ tenant_id, project_id }: ProjectKey): DeriveEventId =>
  (text, occurrence) => {
    const hex = sha256Hex(`${tenant_id}\n${project_id}\n${occurrence}\n${text}`);
    // UUID version 8 (custom), then the two standard variant bits.
    const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
