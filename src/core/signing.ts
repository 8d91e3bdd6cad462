import { isCanonicalBase64url } from './base64url.js';
import { canonicalJson } from './canonical-json.js';

/** Commands of a session, by the names used in signatures. */
export type SignedCommand =
  | 'claim_task'
  | 'next'
  | 'renew_lease'
  | 'release_claim'
  | 'submit_result'
  | 'suspend_claim'
  | 'resume_claim'
  | 'note'
  | 'propose_candidate'
  | 'append_event';

export interface CommandToSign {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly command: SignedCommand;
  /** The request body; its own `signature` field is ignored. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** The first line of every signed text, so that the signature is not valid for any other purpose. */
const SIGNING_DOMAIN = 'gcc/v1';
const SIGNED_LINE_COUNT = 9;

/** The text whose SHA-256 represents the body. */
export const bodyText = ({ body }: CommandToSign): string => canonicalJson({ ...body, signature: undefined });

/**
 * The text to sign, as UTF-8, one field per line. No field can contain a line break, so the text is unique per command.
 * A field that the body does not have is an empty line.
 */
export function signedText(toSign: CommandToSign, bodySha256: string, issuedAt: string): string {
  const { tenant_id, project_id, command, body } = toSign;
  const { task_id, feature_id, edge, request_id } = body;
  const subject = task_id ?? (feature_id === undefined ? undefined : `${feature_id}#${edge}`);
  const generation = body.expected_generation ?? body.generation;
  const fields = [tenant_id, project_id, subject, command, generation, request_id, bodySha256, issuedAt];
  return [SIGNING_DOMAIN, ...fields.map((field) => String(field ?? ''))].join('\n');
}

/** The fields of a signed text that is well formed; those that the body did not have are empty. */
export interface SignedTextFields {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly subject: string;
  readonly command: string;
  readonly generation: string;
  readonly request_id: string;
  readonly body_sha256: string;
  readonly issued_at: string;
}

/** Null if the text is not the signed text of a command. */
export function readSignedText(text: string): SignedTextFields | null {
  const lines = text.split('\n');
  if (lines.length !== SIGNED_LINE_COUNT || lines[0] !== SIGNING_DOMAIN) return null;
  const lineAt = (index: number): string => lines[index] ?? '';
  return {
    tenant_id: lineAt(1),
    project_id: lineAt(2),
    subject: lineAt(3),
    command: lineAt(4),
    generation: lineAt(5),
    request_id: lineAt(6),
    body_sha256: lineAt(7),
    issued_at: lineAt(8),
  };
}

/** Format of a signature: the time of signing, and its 64 bytes in base64url. */
export const writeSignature = (issuedAt: string, value: string): string => `v1;${issuedAt};${value}`;

/**
 * Parses a signature; null if it is invalid or not canonical. The log stores the text, so one signature must not have
 * two valid texts.
 */
export function readSignature(signature: string): { issued_at: string; value: string } | null {
  const [, issued_at, value] =
    /^v1;(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z);([\w-]{86})$/.exec(signature) ?? [];
  if (issued_at === undefined || value === undefined) return null;
  return isCanonicalBase64url(value) ? { issued_at, value } : null;
}
