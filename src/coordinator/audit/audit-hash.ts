import { hash } from 'node:crypto';
import type { HashBytes } from '../../core/audit/audit-values.js';
import type { EventEnvelope } from '../../core/events/envelope.js';

export const sha256: HashBytes = (data) => hash('sha256', data, 'buffer');

/** The hash of a leaf: RFC 6962 puts a zero byte before its text. */
export const leafHashOf = (leaf: string): Uint8Array => hash('sha256', `\0${leaf}`, 'buffer');

/** The digest of a payload as a leaf has it. */
export const payloadDigest = (payload: EventEnvelope['payload']): string =>
  hash('sha256', JSON.stringify(payload), 'base64url');
