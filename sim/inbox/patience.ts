import type { Letter } from './letter.js';

/** The work of the agents, as a queue that should be fair. */
interface Waiting {
  readonly letter: Letter;
  /** How many letters of each other agent may be done before this one. */
  readonly allowed: Map<string, number>;
}

/**
 * Who waits, and how long. In a round every agent has one turn; so while one waits, each other has at most what lay
 * there already when it came, and a turn for each of the letters before it.
 */
export class Patience {
  private waiting: Waiting[] = [];

  dropped(letter: Letter, ahead: number, waitingOf: ReadonlyMap<string, number>): void {
    const allowed = new Map([...waitingOf].map(([agent_id, count]) => [agent_id, count + ahead + 2]));
    this.waiting.push({ letter, allowed });
  }

  /** Returns whom that made wait for too long. */
  done(letter: Letter, isWaiting: (letter: Letter) => boolean): Letter | null {
    this.waiting = this.waiting.filter((each) => each.letter !== letter && isWaiting(each.letter));
    let starved: Letter | null = null;
    for (const each of this.waiting) {
      if (each.letter.agent_id === letter.agent_id) continue;
      const left = (each.allowed.get(letter.agent_id) ?? 0) - 1;
      each.allowed.set(letter.agent_id, left);
      if (left < 0) starved = each.letter;
    }
    return starved;
  }

  /** A crash may fall between what two agents of one round are told. */
  crashed(): void {
    for (const { allowed } of this.waiting) {
      for (const [agent_id, left] of allowed) allowed.set(agent_id, left + 1);
    }
  }

  /** Files may be gone or be back: whoever still waits drops its letter again. */
  forget(): void {
    this.waiting = [];
  }
}
