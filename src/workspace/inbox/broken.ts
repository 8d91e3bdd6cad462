import { createHash } from 'node:crypto';
import type { AgentFolder, InboxFiles } from './files.js';
import { isCommandFile, REASON_SUFFIX } from './names.js';
import { writeJsonAtomically } from './outcomes.js';

/** Maximum quarantined files per agent. At the limit its inbox is not served until a person has cleared them. */
export const BROKEN_MAX = 500;

/** Inbox files that are not valid commands. They are kept with the reason; only a person removes them. */
export class BrokenFiles {
  private constructor(private readonly folder: AgentFolder) {}

  static async open(files: InboxFiles, path: string): Promise<BrokenFiles> {
    return new BrokenFiles(await files.make(path));
  }

  /** Also counts reason files, because every quarantine lists the whole folder. */
  async isFull(): Promise<boolean> {
    const names = await this.folder.names();
    const kept = names.filter((name) => !name.toString('utf8').endsWith(REASON_SUFFIX)).length;
    return kept >= BROKEN_MAX || names.length >= 2 * BROKEN_MAX;
  }

  /** Returns the name under which the file is kept. */
  async quarantine(inbox: AgentFolder, name: Buffer, reason: string, at: string): Promise<string> {
    const kept = await this.freeName(name);
    await writeJsonAtomically(this.folder, `${kept}${REASON_SUFFIX}`, {
      file: name.toString('utf8'),
      reason,
      at,
    });
    // Move without opening or following it, whatever it is.
    await inbox.moveInto(this.folder, name, kept);
    return kept;
  }

  close(): Promise<void> {
    return this.folder.close();
  }

  private async freeName(name: Buffer): Promise<string> {
    const text = name.toString('utf8');
    const base = isCommandFile(text)
      ? text
      : `unnamed-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
    for (let number = 0; ; number += 1) {
      const candidate = number === 0 ? base : `${base}~${number}`;
      if (!(await this.folder.has(candidate))) return candidate;
    }
  }
}
