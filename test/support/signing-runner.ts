import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Coordinator } from '../../src/coordinator/index.js';
import { canonicalJson } from '../../src/core/canonical-json.js';
import type { EffectiveCheck } from '../../src/core/contract/checks.js';
import { checkDigestText } from '../../src/core/engine/check-digest.js';
import type { CheckOutcome } from '../../src/core/engine/check-outcome.js';
import { type EvidenceStatement, evidenceText } from '../../src/core/engine/evidence.js';
import { PROJECT_KEY, unwrap } from './coordinator-harness.js';

export const sha256Of = (content: string | Uint8Array): string =>
  createHash('sha256').update(content).digest('hex');

const checkOf = (name: string, command: string): EffectiveCheck => ({
  ...{ name, type: 'deterministic', criterion: '', required: true, command, skipped: null },
});

/** The outcome that a runner reports for a command that it ran. */
export const reportedOutcome = (
  name: string,
  command: string,
  more: Partial<CheckOutcome> = {},
): CheckOutcome => ({
  ...{ name, type: 'deterministic', required: true, result: 'pass', says: '' },
  ...{
    command_sha256: sha256Of(command),
    check_sha256: sha256Of(checkDigestText(checkOf(name, command)) ?? ''),
  },
  ...{ exit_code: 0, signal: null, duration_ms: 12 },
  ...{ report: null, output_sha256: null, ...more },
});

/** A key pair that signs statements. Whether it is enrolled is up to the test. */
export class SigningRunner {
  readonly public_key: string;
  private readonly privateKey: KeyObject;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    this.privateKey = privateKey;
    this.public_key = String(publicKey.export({ format: 'jwk' }).x);
  }

  get runner_id(): string {
    return `rnr_${sha256Of(this.public_key).slice(0, 24)}`;
  }

  statement(fields: Partial<EvidenceStatement> & Pick<EvidenceStatement, 'task_id'>): EvidenceStatement {
    return {
      ...{ version: 1, ...PROJECT_KEY, generation: 1, candidate_sha256: '0'.repeat(64) },
      ...{ base: { kind: 'git', commit: 'c'.repeat(40) }, base_version: 1, runner_id: this.runner_id },
      ...{ started_at: '2026-01-04T06:00:00.000Z', ended_at: '2026-01-04T06:00:01.000Z', checks: [] },
      ...fields,
    };
  }

  signed(statement: EvidenceStatement) {
    const value = sign(null, Buffer.from(evidenceText(statement)), this.privateKey);
    return { statement, signature: value.toString('base64url') };
  }
}

/** Uploads a manifest and its files, and returns the manifest with its digest. */
export async function uploadCandidate(
  target: { putBlob: (sha256: string, bytes: Uint8Array) => Promise<unknown> },
  files: Readonly<Record<string, string>>,
  existing: readonly string[] = [],
) {
  const entries = Object.entries(files).map(([path, text]) => ({
    ...{ path, sha256: sha256Of(text), size_bytes: Buffer.byteLength(text), executable: false },
    base_sha256: existing.includes(path) ? sha256Of(`before ${path}`) : null,
  }));
  for (const text of Object.values(files)) await target.putBlob(sha256Of(text), Buffer.from(text));
  const total_bytes = entries.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  const manifest = { kind: 'files', files: entries, total_bytes };
  const bytes = Buffer.from(canonicalJson(manifest));
  await target.putBlob(sha256Of(bytes), bytes);
  return { manifest, sha256: sha256Of(bytes) };
}

export const blobsOf = (coordinator: Coordinator) => ({
  putBlob: async (sha256: string, bytes: Uint8Array) =>
    unwrap(await coordinator.blobs.putBlob(PROJECT_KEY.tenant_id, sha256, bytes)),
});
