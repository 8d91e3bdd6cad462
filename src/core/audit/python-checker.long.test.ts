import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { onProgram } from '../../stores/testing/on-database.js';
import { findInstalledProgram, missingProgram } from '../../stores/testing/program.js';
import { checkProofText } from './proof.js';
import { AuditedLog } from './testing/audited-log.js';
import { mutatedProof } from './testing/mutated-proof.js';
import { newSigner, seededRandom, testSha256, verifyEd25519 } from './testing/primitives.js';

const FOLDER = fileURLToPath(new URL('../../../examples/audit', import.meta.url));
const PYTHON = findInstalledProgram('python3') ?? 'python3';
/** Checks all proofs in one process, since starting a process takes longer than a check. */
const DRIVER = `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from check_proof import check
print(json.dumps([check(text, key) for text, key in json.load(sys.stdin)]))
`;
const MUTANT_COUNT = 1000;

interface ProofCase {
  readonly text: string;
  readonly key?: string;
}

const ourVerdict = ({ text, key }: ProofCase): string => {
  const trusted = key === undefined ? {} : { trustedKeys: [key] };
  const verdict = checkProofText(text, { hash: testSha256, verify: verifyEd25519, ...trusted });
  return verdict.ok ? 'ok' : verdict.code;
};

function pythonVerdicts(cases: readonly ProofCase[]): string[] {
  const input = JSON.stringify(cases.map(({ text, key }) => [text, key ?? null]));
  const { stdout, stderr } = spawnSync(PYTHON, ['-c', DRIVER, FOLDER], { input, maxBuffer: 2 ** 26 });
  if (stdout.length === 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString()) as string[];
}

const log = new AuditedLog({ tenant_id: 'acme', project_id: 'shop' }, newSigner('log')).fill(520);
const SIZES = [1, 2, 3, 7, 8, 255, 256, 257, 520];
const proofs = SIZES.flatMap((size) => [
  ...[0, size >> 1, size - 1].map((index) => log.inclusionProof(index, size, index % 2 === 0)),
  ...[1, (size + 1) >> 1, size].map((from) => log.consistencyProof(from, size)),
]);

await onProgram('python', missingProgram('python3'), () => {
  describe('the checker in Python', describeChecker);
});

function describeChecker(): void {
  it('accepts the proofs that the checker in TypeScript accepts', () => {
    const cases = proofs.map((proof) => ({ text: JSON.stringify(proof) }));
    expect(cases.map(ourVerdict)).toEqual(cases.map(() => 'ok'));
    expect(pythonVerdicts(cases)).toEqual(cases.map(() => 'ok'));
  });

  it('refuses the proofs that the checker in TypeScript refuses, with the same code', () => {
    const random = seededRandom(17);
    const other = newSigner('other');
    const cases = Array.from({ length: MUTANT_COUNT }, (_, at) => ({
      text: mutatedProof(proofs, at, random, { log, other }),
    }));
    const verdicts = cases.map(ourVerdict);
    expect(cases.filter((_, at) => verdicts[at] === 'ok')).toEqual([]);
    const differing = pythonVerdicts(cases).flatMap((verdict, at) =>
      verdict === verdicts[at] ? [] : [{ python: verdict, ours: verdicts[at], text: cases[at]!.text }],
    );
    expect(differing).toEqual([]);
    // Otherwise the mutants would not show that the checkers agree about each code.
    expect([...new Set(verdicts)].sort()).toEqual([
      'BAD_PATH',
      'BAD_SIGNATURE',
      'KEY_ID_MISMATCH',
      'LEAF_MISMATCH',
      'MALFORMED',
      'PAYLOAD_MISMATCH',
    ]);
  });

  it('trusts only the key that it is given', () => {
    const { key_id, public_key } = log.signer;
    const cases = [key_id, public_key, newSigner().key_id].flatMap((key) =>
      proofs.slice(0, 6).map((proof) => ({ text: JSON.stringify(proof), key })),
    );
    const expected = cases.map(({ key }) => ([key_id, public_key].includes(key) ? 'ok' : 'UNTRUSTED_KEY'));
    expect(cases.map(ourVerdict)).toEqual(expected);
    expect(pythonVerdicts(cases)).toEqual(expected);
  });

  it('prints its verdict, and exits with 0 or 1', () => {
    const folder = mkdtempSync(join(tmpdir(), 'audit-'));
    try {
      const file = join(folder, 'proof.json');
      writeFileSync(file, JSON.stringify(proofs[0]));
      const run = (...args: string[]) => {
        const { status, stdout } = spawnSync(PYTHON, ['-B', join(FOLDER, 'check_proof.py'), file, ...args]);
        return [status, stdout.toString().trim()];
      };
      expect(run()).toEqual([0, 'ok']);
      expect(run('--key', log.signer.key_id)).toEqual([0, 'ok']);
      expect(run('--key', newSigner().key_id)).toEqual([1, 'UNTRUSTED_KEY']);
      // A key without --key, or --key without a key, is a usage error and not ignored.
      expect(run(log.signer.key_id)).toEqual([1, '']);
      expect(run('--key')).toEqual([1, '']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
