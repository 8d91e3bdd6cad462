import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { remove, removeOldest } from './folder-files.js';
import { OwnedFiles } from './owned-files.js';

/**
 * A claim whose result waits for a person. If the person requests changes, any process can continue the claim under the
 * same session and agent.
 */
export interface EscalatedClaim {
  readonly task_id: string;
  readonly session_id: string;
  readonly agent_id: string;
  readonly generation: number;
  /** Only workers of this role continue the claim. */
  readonly agent_role?: string;
}

/** The file of an escalated claim, owned by this process. */
export interface OwnedEscalation {
  readonly path: string;
  readonly claim: EscalatedClaim;
}

const SUFFIX = '.escalated';
export const ESCALATED_MAX = 1000;

/**
 * The claims that wait for a person, as files that outlive the worker. Only the process that owns a file requests its
 * claim again.
 */
export class EscalatedClaims {
  private readonly files: OwnedFiles;

  constructor(folder: string) {
    this.files = new OwnedFiles(folder, SUFFIX, SUFFIX);
  }

  /** Removes the earlier file of the claim, then writes a new one: with two files, two processes would continue the claim. */
  async add(requestId: string, claim: EscalatedClaim): Promise<void> {
    for (const name of await this.files.names()) {
      const existingClaim = await this.read(name);
      if (existingClaim?.task_id === claim.task_id && existingClaim.session_id === claim.session_id)
        await remove(join(this.files.folder, name));
    }
    await this.files.write(requestId, JSON.stringify(claim), false);
    await removeOldest(this.files.folder, SUFFIX, ESCALATED_MAX);
  }

  /** Takes the files that no living process owns and whose claim the predicate accepts. */
  async take(isAccepted: (claim: EscalatedClaim) => boolean): Promise<OwnedEscalation[]> {
    const taken: OwnedEscalation[] = [];
    for (const name of await this.files.names()) {
      if (!(await this.files.isAvailable(name))) continue;
      const claim = await this.read(name);
      if (claim === null || !isAccepted(claim)) continue;
      const path = await this.files.takeOwnership(name);
      if (path !== null) taken.push({ path, claim });
    }
    return taken;
  }

  /** False if another process has taken over the file. */
  keepOwnership = ({ path }: OwnedEscalation): Promise<boolean> => this.files.keepOwnership(path);
  giveBack = ({ path }: OwnedEscalation): Promise<void> => this.files.giveBack(path);
  remove = ({ path }: OwnedEscalation): Promise<void> => remove(path);

  /** Null if the file is gone or broken. A broken file cannot be used, and is removed. */
  private async read(name: string): Promise<EscalatedClaim | null> {
    const path = join(this.files.folder, basename(name));
    const text = await readFile(path, 'utf8').catch(() => null);
    if (text === null) return null;
    const claim = parseClaim(text);
    if (claim === null) await remove(path);
    return claim;
  }
}

function parseClaim(text: string): EscalatedClaim | null {
  try {
    const { task_id, session_id, agent_id } = JSON.parse(text) as EscalatedClaim;
    const isComplete = [task_id, session_id, agent_id].every((each) => typeof each === 'string');
    return isComplete ? (JSON.parse(text) as EscalatedClaim) : null;
  } catch {
    return null;
  }
}
