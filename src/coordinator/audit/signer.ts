import type { AuditSink } from './sink.js';

/** Signs checkpoints, records and rotations of keys. The private key may be in a file or in a key management service. */
export interface AuditSigner {
  readonly key_id: string;
  /** The 32 bytes of the Ed25519 key, in base64url. */
  readonly public_key: string;
  /** An Ed25519 signature of the text as UTF-8, in base64url. Rejects if signing fails. */
  sign(text: string): Promise<string>;
}

/** The signer could not sign. The message says what to do. */
export class SigningFailed extends Error {}

export async function signWith(signer: AuditSigner, text: string): Promise<string> {
  try {
    return await signer.sign(text);
  } catch (error) {
    throw new SigningFailed(`The audit key ${signer.key_id} cannot sign now. ${(error as Error).message}`);
  }
}

export interface AuditOptions {
  readonly signer: AuditSigner;
  /** Keys that `signer` replaces, newest first. In a project where one is active, it signs the enrolment of `signer`. */
  readonly previousSigners?: readonly AuditSigner[];
  /** Called with the reason why no checkpoint of a project can be written, each time the reason changes. */
  readonly warn?: (sentence: string) => void;
  /** A checkpoint is due after this many events … */
  readonly every_events?: number;
  /** … or after this time, if there are new events. */
  readonly every_ms?: number;
  /** The places outside the log where checkpoints are kept. */
  readonly sinks?: readonly AuditSink[];
}
