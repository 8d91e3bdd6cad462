import { isCanonicalBase64url } from './base64url.js';
import { canonicalJson } from './canonical-json.js';

/** What a session does, by the names under which it signs it. */
export type SignedCommand =
  | 'claim_task'
  | 'next'
  | 'renew_lease'
  | 'release_claim'
  | 'submit_result'
  | 'suspend_claim'
  | 'resume_claim'
  | 'note'
  | 'append_event';

export interface CommandToSign {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly command: SignedCommand;
  /** The body as it is sent, or will be; its own `signature` does not count. */
  readonly body: Readonly<Record<string, unknown>>;
}

const DOMAIN = 'gcc/v1';

/** The text whose SHA-256 stands for the body. */
export const bodyText = ({ body }: CommandToSign): string => canonicalJson({ ...body, signature: undefined });

/**
 * What is signed, as UTF-8. One field a line: none of them can have a line break in it, so no two commands share a
 * text. What a body does not have is an empty line.
 */
export function signedText(toSign: CommandToSign, bodySha256: string, issuedAt: string): string {
  const { tenant_id, project_id, command, body } = toSign;
  const { task_id, feature_id, edge, request_id } = body;
  const subject = task_id ?? (feature_id === undefined ? undefined : `${feature_id}#${edge}`);
  const generation = body.expected_generation ?? body.generation;
  const fields = [tenant_id, project_id, subject, command, generation, request_id, bodySha256, issuedAt];
  return [DOMAIN, ...fields.map((field) => String(field ?? ''))].join('\n');
}

/** How a signature is written: when it was made, and its 64 bytes in base64url. */
export const writeSignature = (issuedAt: string, value: string): string => `v1;${issuedAt};${value}`;

/** Null where it is none, or not spelled in the one way there is: the log keeps it, and it must compare as it verifies. */
export function readSignature(signature: string): { issued_at: string; value: string } | null {
  const [, issued_at, value] =
    /^v1;(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z);([\w-]{86})$/.exec(signature) ?? [];
  if (issued_at === undefined || value === undefined) return null;
  return isCanonicalBase64url(value) ? { issued_at, value } : null;
}
