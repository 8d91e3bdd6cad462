import type { Letter } from './letter.js';

/** One for itself, one for a round that is under way, and some because inboxes are not looked into in one moment. */
const SPARE_TURNS = 5;

interface Waiting {
  readonly letter: Letter;
  /** Turns that every other agent may have before this one is done, beside those for what lay there already. */
  turns: number;
  /** How many letters of each other agent lay there, less those that are done. */
  readonly before: Map<string, number>;
}

/**
 * Who waits, and how long. In a round every agent has one turn; so while one waits, each other has at most what lay
 * there already when it came, and a turn for each of the letters before it.
 */
export class Patience {
  private waiting: Waiting[] = [];

  dropped(letter: Letter, ahead: number, before: Map<string, number>): void {
    this.waiting.push({ letter, turns: ahead + SPARE_TURNS, before });
  }

  /** Returns whom that made wait for too long. */
  done(letter: Letter, isWaiting: (letter: Letter) => boolean): Letter | null {
    this.waiting = this.waiting.filter((each) => each.letter !== letter && isWaiting(each.letter));
    let starved: Letter | null = null;
    for (const each of this.waiting) {
      if (each.letter.agent_id === letter.agent_id) continue;
      const left = (each.before.get(letter.agent_id) ?? 0) - 1;
      each.before.set(letter.agent_id, left);
      if (left + each.turns < 0) starved = each.letter;
    }
    return starved;
  }

  /** A crash may fall between what two agents of one round are told. */
  crashed(): void {
    for (const each of this.waiting) each.turns += 1;
  }

  /** Files may be gone or be back: whoever still waits drops its letter again. */
  forget(): void {
    this.waiting = [];
  }
}
