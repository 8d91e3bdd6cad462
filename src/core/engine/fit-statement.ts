import { EVIDENCE_BYTES_MAX, type EvidenceStatement } from './evidence.js';

/** Bytes reserved for the signature and the names of its fields. */
const SIGNATURE_BYTES = 256;
const SAYS_CHARS = [2000, 500, 100, 0];

/**
 * The statement with the text of each check shortened until it is small enough to be recorded; without these texts if even
 * then it is too large. The text of every check may contain a path of the candidate, so that one long path could make the
 * whole statement too large.
 */
export function fitStatement(statement: EvidenceStatement): EvidenceStatement {
  let fitted = statement;
  for (const charsMax of SAYS_CHARS) {
    const checks = statement.checks.map((check) => ({ ...check, says: check.says.slice(0, charsMax) }));
    fitted = { ...statement, checks };
    const bytes = new TextEncoder().encode(JSON.stringify(fitted)).length;
    if (bytes <= EVIDENCE_BYTES_MAX - SIGNATURE_BYTES) return fitted;
  }
  return fitted;
}
