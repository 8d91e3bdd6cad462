import { createPublicKey } from 'node:crypto';
import { sha256 } from '../../coordinator/audit/audit-hash.js';
import type { AuditSigner } from '../../coordinator/audit/signer.js';
import { verifySignatureSync } from '../../coordinator/audit/verify-signature.js';
import { bytes32, keyIdOf } from '../../core/audit/audit-values.js';
import { runBoundedCommand } from './bounded-command.js';
import { ConcurrencyLimiter } from './concurrency-limiter.js';

const SIGNATURE_BYTES = 64;
/** Each project signs its own checkpoints, so many may be due at once; few processes may run at a time. */
const COMMANDS_AT_ONCE = 4;

interface SigningCommand {
  /** The program and its arguments; `public-key` or `sign` is added to it. */
  readonly command: string;
  readonly cwd: string;
  readonly timeout_ms?: number;
}

/** Opens a key that another program holds, such as a key management service. Throws if the program prints no public key. */
export async function openCommandSigner(signing: SigningCommand): Promise<AuditSigner> {
  const public_key = publicKeyIn(await runVerb(signing, 'public-key', ''), signing);
  const queue = new ConcurrencyLimiter(COMMANDS_AT_ONCE);
  const signText = async (text: string): Promise<string> =>
    signatureIn(await runVerb(signing, 'sign', text), text, public_key, signing);
  return {
    key_id: keyIdOf(sha256, public_key),
    public_key,
    sign: (text) => queue.run(() => signText(text)),
  };
}

type SigningVerb = 'public-key' | 'sign';

async function runVerb(
  { command, cwd, timeout_ms }: SigningCommand,
  verb: SigningVerb,
  input: string,
): Promise<string> {
  const limit = timeout_ms === undefined ? {} : { timeout_ms };
  try {
    return await runBoundedCommand({ line: `${command} ${verb}`, cwd, input, ...limit });
  } catch (error) {
    throw signerError(command, verb, (error as Error).message);
  }
}

/** Reads the public key that the command printed: PEM, or the 32 bytes in base64url. */
function publicKeyIn(output: string, { command }: SigningCommand): string {
  const text = output.trim();
  const raw = text.startsWith('-----BEGIN') ? rawKeyOfPem(text) : text;
  if (bytes32.safeParse(raw).success) return raw;
  const expected = 'an Ed25519 public key: SPKI in PEM, or its 32 bytes as 43 characters of base64url';
  throw signerError(command, 'public-key', `it must print ${expected}`);
}

function rawKeyOfPem(pem: string): string {
  try {
    const { crv, x = '' } = createPublicKey(pem).export({ format: 'jwk' });
    return crv === 'Ed25519' ? x : '';
  } catch {
    return '';
  }
}

/** Reads the signature and verifies it: a signature by another key would make the checkpoint invalid for ever. */
function signatureIn(output: string, text: string, publicKey: string, { command }: SigningCommand): string {
  const printed = output.trim();
  const bytes = /^[\w+/-]+=*$/.test(printed) ? Buffer.from(printed, 'base64') : Buffer.alloc(0);
  if (bytes.length !== SIGNATURE_BYTES)
    throw signerError(command, 'sign', 'it must print an Ed25519 signature: 64 bytes in base64 or base64url');
  const signature = bytes.toString('base64url');
  if (verifySignatureSync(publicKey, text, signature)) return signature;
  const why = 'the signature does not verify with the public key that the command printed for public-key';
  throw signerError(command, 'sign', why);
}

/** The arguments may be confidential, so only the program is named. */
const signerError = (command: string, verb: SigningVerb, why: string): Error =>
  new Error(
    `The signing command ${command.trim().split(/\s+/)[0]} failed when it was called with the argument ${verb}: ${why}. Run it by hand with that argument, then correct the command or GENESIS_AUDIT_KEY.`,
  );
