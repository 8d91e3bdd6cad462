import { hash as oneShotHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { v5 as uuidFromName, v7 as uuidFromTime } from 'uuid';
import type { ClaimIdOf } from '../core/claims/commands.js';
import type { DeriveEventId } from '../core/events/foreign-log.js';
import type { ProjectKey, StoreMeta } from '../stores/store.js';
import type { Environment } from './environment.js';

export const sha256Hex = (data: string | Uint8Array): string => oneShotHash('sha256', data, 'hex');

/** Tells one body from another under one request id: a guard against mistakes, not against attacks. */
export const textDigest = (text: string): string => `${text.length.toString(36)}-${base36(crc32(text))}`;

const LOW_DIGITS = 3;
const LOW = 36 ** LOW_DIGITS;

// This runs for every command: a number of 32 bits takes a fraction of the time when it is spelled in two halves.
function base36(number: number): string {
  const high = Math.floor(number / LOW);
  if (high === 0) return number.toString(36);
  return high.toString(36) + (number % LOW).toString(36).padStart(LOW_DIGITS, '0');
}

/**
 * The claim id is derived, never stored: a replayed grant can tell it again, and a stolen log cannot.
 * The incarnation is in it, so a handle from before a loss of history opens nothing after it.
 *
 * A keyed hash: SHA-256 over the secret, which has a fixed length and comes first, and the grant. Less than the whole
 * digest is told, so nobody can go on from it to the id of another grant.
 */
export function claimIdDeriver(key: string, subject: string): ClaimIdOf {
  return ({ generation, request_id }) => {
    const grant = `${key}${subject}\n${generation}\n${request_id ?? ''}`;
    return `clm_${oneShotHash('sha256', grant, 'base64url').slice(0, 22)}`;
  };
}

/** What the claim ids of a project are derived with. Neither its names nor a subject can contain a line break. */
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

// This runs for every event: joining thirty pieces of text would leave each of them to be collected.
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

/** Refusals are named by what they refuse, so that the same refusal is written down once. */
export const contentEventId = (parts: readonly (string | number)[]): string =>
  uuidFromName(JSON.stringify(parts), CONTENT_ID_NAMESPACE);

/** A line of another's log has no id that could be relied on: its own text names it, within the project it comes to. */
export const foreignEventIdFor =
  ({ tenant_id, project_id }: ProjectKey): DeriveEventId =>
  (text, occurrence) => {
    const hex = sha256Hex(`${tenant_id}\n${project_id}\n${occurrence}\n${text}`);
    // Version 8: an id of our own making. The two bits after it are those of every UUID.
    const variant = ((Number.parseInt(hex.charAt(16), 16) & 3) | 8).toString(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  };
