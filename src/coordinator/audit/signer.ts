import type { AuditSink } from './sink.js';

/** Signs checkpoints. The private key may be in a file or with a key management service. */
export interface AuditSigner {
  readonly key_id: string;
  /** The 32 bytes of the Ed25519 key, in base64url. */
  readonly public_key: string;
  /** An Ed25519 signature of the text as UTF-8, in base64url. Rejects if there is no signature now. */
  sign(text: string): Promise<string>;
}

export interface AuditOptions {
  readonly signer: AuditSigner;
  /** A checkpoint is due after so many events … */
  readonly every_events?: number;
  /** … or after so much time with something new. */
  readonly every_ms?: number;
  /** Where checkpoints are kept beside the log. */
  readonly sinks?: readonly AuditSink[];
}
