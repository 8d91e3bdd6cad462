import {
  type AnchorOptions,
  auditViolations,
  CheckpointAudit,
} from '../../coordinator/audit/verify/checkpoint-audit.js';
import type { LogRemark } from '../../coordinator/audit/verify/log-remark.js';
import { type LogReport, LogVerifier } from '../../coordinator/audit/verify/log-verifier.js';
import type { LogAuditReport } from '../../core/audit/log-audit.js';
import { SignatureRequirements } from '../../core/audit/unsigned-commands.js';
import { genCommand } from '../../core/methodology/definition/command.js';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { UNRECORDED_REDACTION } from '../../stores/file/redacted-lines.js';
import type { LogLocation } from './find-logs.js';
import { type LogReadResult, readLog } from './read-log.js';

/** Replays one log from its first line and checks every invariant. */
export async function verifyLog(
  location: LogLocation,
  onEvent: (events: number) => void,
  anchorOptions: AnchorOptions = {},
  requirements = new SignatureRequirements(),
): Promise<LogReport> {
  const newVerifier = () => new LogVerifier(onEvent, requirements);
  const { verifier, checkpoints, result } = await readSettled(location, newVerifier, anchorOptions);
  const { damage, unrecordedRedactions, unfinished, unsealed, ...counts } = result;
  const audited = await auditAgain(location, checkpoints, anchorOptions);
  for (const location of unrecordedRedactions)
    verifier.addViolation({ ...location, rule: 'CHAIN', subject: null, says: UNRECORDED_REDACTION });
  if (damage !== null) verifier.addViolation({ ...damage, rule: 'CHAIN', subject: null, says: damage.why });
  if (damage === null) for (const trailing of trailingLines(result)) verifier.addViolation(trailing);
  const path = 'file' in location ? location.file : location.folder;
  if (audited !== null)
    for (const violation of auditViolations(audited, path)) verifier.addViolation(violation);
  return { ...verifier.report(path, audited), ...counts };
}

/** The maximum number of reads: a writer completes a batch within milliseconds. */
const READS_MAX = 5;

/** Reads a log. If its end is unfinished, a writer may be active: reads again until two reads find the same end. */
async function readSettled(
  location: LogLocation,
  newVerifier: () => LogVerifier,
  anchorOptions: AnchorOptions,
) {
  let previousEnd = '';
  for (let reads = 1; ; reads += 1) {
    const verifier = newVerifier();
    const checkpoints = new CheckpointAudit(anchorOptions);
    const result = await readLog(location, (located) => {
      verifier.verifyEvent(located);
      checkpoints.visit(located);
    });
    const end = JSON.stringify([result.lines, result.unfinished_bytes]);
    if (result.unfinished === null || end === previousEnd || reads === READS_MAX)
      return { verifier, checkpoints, result };
    previousEnd = end;
    await nodeDisk.pause();
  }
}

/** Violations for lines in the files that are not part of the log: they were not verified, so the log is not valid. */
function trailingLines({ foreign_lines, lines, unfinished, unfinished_bytes, unsealed }: LogReadResult) {
  const [first] = unsealed;
  const last = unsealed.at(-1);
  const trailing: LogRemark[] = [];
  const violation = { rule: 'TRAILING', subject: null };
  if (first !== undefined && last !== undefined) {
    const isForeignLog = foreign_lines === lines;
    const says = isForeignLog
      ? `this is the log of another program: none of its lines are sealed. Import it: ${genCommand('import', '--foreign', first.file)}`
      : `${unsealed.length} lines of another program are not sealed yet: the next write to the log seals them`;
    const range = first.file === last.file ? { last_line: last.line } : {};
    trailing.push({ ...first, ...range, ...violation, says });
  }
  if (unfinished !== null) {
    const says = `${unfinished_bytes} bytes are unfinished, or of another program: they were never acknowledged, and are not part of the log`;
    trailing.push({ ...unfinished, ...violation, says });
  }
  return trailing;
}

/**
 * Audits the log again if the first audit found violations, and the log does not record the original digests of all redacted
 * payloads. For those payloads the second audit uses the digest of the redacted text. Only the first pass finds which they are.
 */
async function auditAgain(
  location: LogLocation,
  checkpoints: CheckpointAudit,
  anchorOptions: AnchorOptions,
): Promise<LogAuditReport | null> {
  const result = checkpoints.result();
  const unrecorded = checkpoints.unrecordedRedactions();
  if (result === null || unrecorded.size === 0 || auditViolations(result, '').length === 0) return result;
  const second = new CheckpointAudit(anchorOptions, unrecorded);
  await readLog(location, (located) => second.visit(located));
  return second.result();
}
