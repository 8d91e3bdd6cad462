import { join } from 'node:path';
import { nodeDisk } from '../../stores/file/node-disk.js';
import { CommandFailure } from '../exit.js';

/** The names of a fleet's agents, locked so that no other fleet uses their worktrees, branches and logs meanwhile. */
export class AgentLocks {
  private constructor(private readonly locks: readonly { release(): Promise<void> }[]) {}

  /**
   * Throws if a living fleet has one of the names. The operating system releases the locks of a fleet that was killed.
   */
  static async acquire(folder: string, names: readonly string[]): Promise<AgentLocks> {
    const locks: { release(): Promise<void> }[] = [];
    const acquired = new AgentLocks(locks);
    try {
      for (const name of names) {
        const path = join(folder, `${name}.lock`);
        const lock = await nodeDisk.lock(path);
        if (lock === null) throw nameTaken(name, await nodeDisk.lockOwner(path));
        locks.push(lock);
      }
      return acquired;
    } catch (error) {
      await acquired.release();
      throw error;
    }
  }

  /** Does not delete the lock files: after a deletion two fleets could each lock a file of the same name. */
  async release(): Promise<void> {
    for (const lock of this.locks) await lock.release();
  }
}

const nameTaken = (name: string, pid: string): CommandFailure =>
  new CommandFailure(
    `Another gen fleet (process ${pid || 'unknown'}) has an agent with the name ${name} in this folder. ` +
      'Choose another name, with --name or in the fleet file, or stop that fleet. No agent was started.',
  );
