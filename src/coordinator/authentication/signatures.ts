import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { msOf } from '../../core/events/envelope.js';
import {
  bodyText,
  type CommandToSign,
  readSignature,
  type SignedCommand,
  signedText,
} from '../../core/signing.js';
import { sessionSubject } from '../../core/subject.js';
import type { ProjectKey } from '../../stores/store.js';
import type { Project } from '../queue/project.js';
import { sha256Hex } from '../runtime/identity.js';
import { type AsyncReply, catchStoreErrors, fieldProblem, type Problem, problem } from '../wire/problem.js';

/** Maximum difference between the time in a signature and the store's time on arrival, in either direction. */
const SIGNATURE_AGE_MS_MAX = 5 * 60 * 1000;

/** A session's command as received. */
export interface SessionCommand {
  readonly command: SignedCommand;
  readonly body: unknown;
}

interface SignedBody {
  readonly session_id: string;
  readonly signature?: string | undefined;
  readonly request_id?: string;
}

/** Runs `work` unless the signature is wrong, or missing although the tenant requires signatures. */
export function withSignatureCheck<T>(
  project: Project,
  command: SessionCommand,
  work: () => AsyncReply<T>,
): AsyncReply<T> {
  if (!needsSignatureCheck(project, command)) return work();
  return catchStoreErrors(() => signatureProblem(project, command)).then((problem) => problem ?? work());
}

export const needsSignatureCheck = (project: Project, { body }: SessionCommand): boolean =>
  project.limits.require_signatures || (body as SignedBody).signature !== undefined;

/**
 * Why the session's signature is not valid; null if it is. Runs before the command is queued, and verifies off the main
 * thread.
 */
async function signatureProblem(project: Project, sessionCommand: SessionCommand) {
  const { signature, session_id, request_id } = sessionCommand.body as SignedBody;
  if (signature === undefined)
    return signatureRequiredProblem(
      "This tenant requires signed commands. Sign the command with the session's key.",
    );
  const key = await publicKeyOf(project, session_id);
  if (key === null)
    return signatureRequiredProblem(
      'The session has no public_key. Open a session with a public_key, and sign with the private key of the pair.',
    );
  const parsedSignature = readSignature(signature);
  if (parsedSignature === null)
    return invalidSignatureProblem(
      'expected v1;<issued_at>;<64 bytes in canonical base64url, 86 characters>',
    );
  if (request_id === undefined) return invalidSignatureProblem('a signed command needs a request_id');
  const ageMs = project.view().now_ms - msOf(parsedSignature.issued_at);
  if (!(Math.abs(ageMs) <= SIGNATURE_AGE_MS_MAX)) {
    return invalidSignatureProblem(
      'issued_at is more than five minutes from the time of the server: check your clock, then sign again with the same request_id',
    );
  }
  const text = textToSign(project.key, sessionCommand, parsedSignature.issued_at);
  return (await verifySignature(key, text, parsedSignature.value))
    ? null
    : invalidSignatureProblem(
        'does not verify with the public_key of the session for this command: sign the body exactly as it is sent',
      );
}

/** Adds `signed_text` to the fields of a signed command: the text that was signed. The command's event stores it. */
export function withSignedText<Fields extends SignatureFields>(
  projectKey: ProjectKey,
  sessionCommand: SessionCommand,
  fields: Fields,
): Fields & { signed_text?: string } {
  const signature = fields.signature === undefined ? null : readSignature(fields.signature);
  if (signature === null) return fields;
  return { ...fields, signed_text: textToSign(projectKey, sessionCommand, signature.issued_at) };
}

type SignatureFields = Pick<SignedBody, 'signature'>;

function textToSign(
  { tenant_id, project_id }: ProjectKey,
  { command, body }: SessionCommand,
  issuedAt: string,
) {
  const toSign = { tenant_id, project_id, command, body } as CommandToSign;
  return signedText(toSign, sha256Hex(bodyText(toSign)), issuedAt);
}

/** The public key of a session. If the session is unknown here, another coordinator may have opened it: refresh first. */
async function publicKeyOf(project: Project, sessionId: string): Promise<string | null> {
  const subject = sessionSubject(sessionId);
  if (!project.state.records.has(subject)) await project.refresh();
  return (project.state.records.get(subject)?.value.public_key as string | undefined) ?? null;
}

/** Whether the value is a signature of the text by the Ed25519 key. Value and key are in base64url. */
export function verifySignature(publicKey: string, text: string, value: string): Promise<boolean> {
  const key: KeyObject = createPublicKey({
    format: 'jwk',
    key: { kty: 'OKP', crv: 'Ed25519', x: publicKey },
  });
  return new Promise((resolve, reject) => {
    verify(null, Buffer.from(text), key, Buffer.from(value, 'base64url'), (error, isValid) =>
      error === null ? resolve(isValid) : reject(error),
    );
  });
}

const signatureRequiredProblem = (detail: string): Problem => problem('SIGNATURE_REQUIRED', detail);
const invalidSignatureProblem = (message: string): Problem =>
  fieldProblem('signature', message, 'SIGNATURE_INVALID');
