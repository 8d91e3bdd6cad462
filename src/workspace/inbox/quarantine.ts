import { sha256Hex } from '../../coordinator/runtime/identity.js';
import type { AgentFolder } from './files.js';
import { isCommandFile, REASON_SUFFIX } from './names.js';
import { writeJsonAtomically } from './outcomes.js';

/** Maximum quarantined files per agent. Beyond it, the next invalid file blocks its inbox until a person removes some. */
export const QUARANTINE_MAX = 500;

/**
 * Moves an inbox file that is not a valid command to quarantine, and writes the reason beside it. Only a person
 * removes it there. Returns false if the quarantine is full.
 */
export async function quarantineFile(
  inbox: AgentFolder,
  name: Buffer,
  quarantine: AgentFolder,
  { reason, at }: { readonly reason: string; readonly at: string },
): Promise<boolean> {
  const names = (await quarantine.names()).map((each) => each.toString('utf8'));
  const fileCount = names.filter((each) => !each.endsWith(REASON_SUFFIX)).length;
  // Reason files are counted too, because every quarantine lists the whole folder.
  if (fileCount >= QUARANTINE_MAX || names.length >= 2 * QUARANTINE_MAX) return false;
  const quarantinedName = freeName(names, name);
  const record = { file: name.toString('utf8'), reason, at };
  await writeJsonAtomically(quarantine, `${quarantinedName}${REASON_SUFFIX}`, record);
  // Move the file without opening it or following a link.
  await inbox.moveInto(quarantine, name, quarantinedName);
  return true;
}

function freeName(takenNames: readonly string[], name: Buffer): string {
  const text = name.toString('utf8');
  const base = isCommandFile(text) ? text : `unnamed-${sha256Hex(name).slice(0, 16)}`;
  for (let attempt = 0; ; attempt += 1) {
    const candidate = attempt === 0 ? base : `${base}~${attempt}`;
    if (!takenNames.includes(candidate)) return candidate;
  }
}
