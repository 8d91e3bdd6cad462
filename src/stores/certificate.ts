import { StoreRefused } from './store.js';

/** What Node says of a certificate that it does not accept. Some drivers put a code of their own in its place. */
const CODE_PATTERN = /CERT|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE/;
const MESSAGE_PATTERN = /certificate/i;

export function isCertificateError(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return CODE_PATTERN.test(String(code)) || MESSAGE_PATTERN.test(String(message));
}

/** `what` is the engine with its address. */
export const certificateError = (endpoint: string, error: unknown): StoreRefused =>
  new StoreRefused(
    `The certificate of ${endpoint} is not accepted (${(error as Error).message}). Give its authority in NODE_EXTRA_CA_CERTS, and the host as the certificate names it.`,
  );
