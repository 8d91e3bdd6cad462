import type { Platter } from '../world/platter.js';
import type { World } from '../world/world.js';
import { type Letter, readTold } from './letter.js';
import { Patience } from './patience.js';

export const EVENTS = '/w/events';

/** All letters that were ever written, where they lie, and what is seen of their outcomes as soon as it is there. */
export class Post {
  readonly letters: Letter[] = [];
  readonly patience = new Patience();
  /** How often the serialiser has died. */
  deaths = 0;
  /** How often the power has failed. */
  outages = 0;
  private answered = new Set<Letter>();
  private readonly byPath = new Map<string, Letter>();

  constructor(
    private readonly world: World,
    private readonly platter: Platter,
    /** Whether it is a violation when somebody waits for longer than is fair. */
    private readonly isFair: boolean,
  ) {}

  get isEmpty(): boolean {
    return this.letters.every((letter) => !this.isWaiting(letter));
  }

  add(letter: Letter): void {
    this.letters.push(letter);
    this.byPath.set(outcomePath(letter), letter);
  }

  isWaiting(letter: Letter): boolean {
    return this.platter.file(inboxPath(letter)) !== null;
  }

  /** An outcome that can be read lies there. */
  isAnswered(letter: Letter): boolean {
    return this.answered.has(letter);
  }

  /** Its agent gave it its name in the inbox. */
  dropped(letter: Letter): void {
    letter.dropped_in_outage = this.outages;
    letter.drops += 1;
    const before = new Map<string, number>();
    let ahead = 0;
    for (const other of this.letters) {
      const waits = this.isWaiting(other);
      before.set(other.agent_id, (before.get(other.agent_id) ?? 0) + (waits ? 1 : 0));
      if (other.agent_id === letter.agent_id && (waits || !this.isAnswered(other))) ahead += 1;
    }
    this.patience.dropped(letter, ahead, before);
  }

  /** The serialiser is done with it. */
  removed(agent_id: string, name: string): void {
    const letter = this.byPath.get(`${EVENTS}/outcome/${agent_id}/${name}`);
    const starved = letter === undefined ? null : this.patience.done(letter, (each) => this.isWaiting(each));
    if (this.isFair && starved !== null) {
      this.world.violate('INBOX-FAIR', `${agent_id} has turn after turn while ${starved.says} waits`);
    }
  }

  /** The serialiser gave a file this name. */
  named(path: string): void {
    const letter = this.byPath.get(path);
    if (letter === undefined) return;
    const told = readTold(this.platter.file(path)?.content() ?? Buffer.alloc(0));
    if (told === null) {
      this.world.violate('INBOX-WHOLE', `half an outcome was named ${path}`);
      return;
    }
    this.world.trace(`${letter.says} is told ${told.code}`);
    this.answered.add(letter);
    letter.told.push({ ...told, deaths: this.deaths, drops: letter.drops });
    if (letter.command === null) this.patience.done(letter, (each) => this.isWaiting(each));
  }

  died(): void {
    this.deaths += 1;
    this.patience.crashed();
  }

  powerFailed(): void {
    this.outages += 1;
    this.patience.forget();
    this.answered = new Set(
      this.letters.filter((letter) => {
        const file = this.platter.file(outcomePath(letter));
        return file !== null && readTold(file.content()) !== null;
      }),
    );
  }
}

export const inboxPath = ({ agent_id, name }: Letter): string => `${EVENTS}/inbox/${agent_id}/${name}`;
export const outcomePath = ({ agent_id, name }: Letter): string => `${EVENTS}/outcome/${agent_id}/${name}`;
