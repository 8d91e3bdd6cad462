import type { CommandFile } from './command-file.js';

/** One for itself, one for a round that is under way, and some because inboxes are not looked into in one moment. */
const SPARE_TURNS = 5;

interface WaitingFile {
  readonly commandFile: CommandFile;
  /** Turns that every other agent may have before this one is done, beside those for what lay there already. */
  turns: number;
  /** How many letters of each other agent lay there, less those that are done. */
  readonly before: Map<string, number>;
}

/**
 * Who waits, and how long. In a round every agent has one turn; so while one waits, each other has at most what lay
 * there already when it came, and a turn for each of the letters before it.
 */
export class FairnessCheck {
  private waiting: WaitingFile[] = [];

  onDropped(commandFile: CommandFile, ahead: number, before: Map<string, number>): void {
    this.waiting.push({ commandFile, turns: ahead + SPARE_TURNS, before });
  }

  /** Returns whom that made wait for too long. */
  onDone(commandFile: CommandFile, isWaiting: (commandFile: CommandFile) => boolean): CommandFile | null {
    this.waiting = this.waiting.filter(
      (entry) => entry.commandFile !== commandFile && isWaiting(entry.commandFile),
    );
    let starved: CommandFile | null = null;
    for (const entry of this.waiting) {
      if (entry.commandFile.agent_id === commandFile.agent_id) continue;
      const left = (entry.before.get(commandFile.agent_id) ?? 0) - 1;
      entry.before.set(commandFile.agent_id, left);
      if (left + entry.turns < 0) starved = entry.commandFile;
    }
    return starved;
  }

  /** A crash may fall between what two agents of one round are told. */
  onCrash(): void {
    for (const entry of this.waiting) entry.turns += 1;
  }

  /** Files may be gone or be back: whoever still waits drops its letter again. */
  reset(): void {
    this.waiting = [];
  }
}
