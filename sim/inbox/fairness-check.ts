import type { CommandFile } from './command-file.js';

/**
 * Turns allowed besides those for files ahead: one for the file itself, one for a round in progress, and some because
 * inboxes are not read all at the same moment.
 */
const SPARE_TURNS = 5;

interface WaitingFile {
  readonly commandFile: CommandFile;
  /**
   * Turns that each other agent may take before this file is done, besides one for each file of that agent that was
   * already there.
   */
  turnsAllowed: number;
  /** For each other agent, the number of files that were already there, less those that are done. */
  readonly filesBefore: Map<string, number>;
}

/**
 * Checks that no agent waits too long. In a round every agent has one turn. So while a file waits, each other agent
 * gets at most one turn for each of its files that were already there, and one for each file ahead of the waiting one.
 */
export class FairnessCheck {
  private waiting: WaitingFile[] = [];

  onWritten(commandFile: CommandFile, ahead: number, filesBefore: Map<string, number>): void {
    this.waiting.push({ commandFile, turnsAllowed: ahead + SPARE_TURNS, filesBefore });
  }

  /** Returns a file that has now waited too long, if any. */
  onDone(commandFile: CommandFile, isWaiting: (commandFile: CommandFile) => boolean): CommandFile | null {
    this.waiting = this.waiting.filter(
      (entry) => entry.commandFile !== commandFile && isWaiting(entry.commandFile),
    );
    let starved: CommandFile | null = null;
    for (const entry of this.waiting) {
      if (entry.commandFile.agent_id === commandFile.agent_id) continue;
      const filesAhead = (entry.filesBefore.get(commandFile.agent_id) ?? 0) - 1;
      entry.filesBefore.set(commandFile.agent_id, filesAhead);
      if (filesAhead + entry.turnsAllowed < 0) starved = entry.commandFile;
    }
    return starved;
  }

  /** A crash may come between the outcomes of two agents in one round. */
  onCrash(): void {
    for (const entry of this.waiting) entry.turnsAllowed += 1;
  }

  /** After a power failure files may be gone or may have reappeared: agents that still wait write their files again. */
  reset(): void {
    this.waiting = [];
  }
}
