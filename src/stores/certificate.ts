import { StoreRefused } from './store.js';

/** What Node says of a certificate that it does not accept. Some drivers put a code of their own in its place. */
const CODE = /CERT|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE/;
const WORDS = /certificate/i;

export function isCertificateFault(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return CODE.test(String(code)) || WORDS.test(String(message));
}

/** `what` is the engine with its address. */
export const certificateRefused = (what: string, error: unknown): StoreRefused =>
  new StoreRefused(
    `The certificate of ${what} is not accepted (${(error as Error).message}). Give its authority in NODE_EXTRA_CA_CERTS, and the host as the certificate names it.`,
  );
