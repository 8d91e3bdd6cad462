import { canonicalJson } from '../canonical-json.js';
import type { EffectiveCheck } from '../contract/checks.js';
import { isCommandRefusal, parseCheckCommand } from './command-line.js';

/**
 * The text whose digest identifies a check: the command, the report with its minimum, and the timeout. If one of them
 * changes, it is a different check. Null if the check cannot be run.
 */
export function checkDigestText(check: EffectiveCheck): string | null {
  const { command = '', shell = false, report = null, timeout_seconds = null, skipped } = check;
  if (skipped !== null) return null;
  const parsed = parseCheckCommand(command, shell);
  if (isCommandRefusal(parsed)) return null;
  return canonicalJson({ command: parsed, report, timeout_seconds });
}
