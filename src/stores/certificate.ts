import { StoreRefused } from './store.js';

/**
 * Node's error codes for a rejected certificate. Some drivers substitute another code, so the message is checked
 * too.
 */
const CODE_PATTERN = /CERT|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE/;
const MESSAGE_PATTERN = /certificate/i;

export function isCertificateError(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return CODE_PATTERN.test(String(code)) || MESSAGE_PATTERN.test(String(message));
}

/** `endpoint` names the database and its address in the message. */
export const certificateError = (endpoint: string, error: unknown): StoreRefused =>
  new StoreRefused(
    `The certificate of ${endpoint} is not trusted (${(error as Error).message}). Set NODE_EXTRA_CA_CERTS to the certificate file of its CA, and connect with a host name that the certificate contains.`,
  );
