import type { Platter } from '../world/platter.js';
import type { Rng } from '../world/rng.js';
import type { World } from '../world/world.js';
import { Letter } from './letter.js';
import { inboxPath, type Post } from './post.js';
import type { InboxScenario } from './scenario.js';

const EDGES = ['design→code', 'code↔unit_tests'];
const FEATURES_AT_ONCE = 2;
/** What is converged stays so: now and then there must be new work. */
const LETTERS_PER_FEATURE = 25;
/** Between writing a file and moving it to its name. */
const MOVE_MS_MAX = 5;

export interface InboxStage {
  readonly world: World;
  readonly platter: Platter;
  readonly scenario: InboxScenario;
  readonly post: Post;
  /** Nobody begins anything new. */
  isOver: boolean;
}

type Kind = 'claim' | 'heartbeat' | 'step' | 'release' | 'converge' | 'stray' | 'garbage';

/** An agent that can do no more than move files: drops commands, looks for outcomes, drops again what was lost. */
export class InboxAgent {
  private readonly mine: Letter[] = [];
  private readonly rng: Rng;
  private last_move_ms = 0;
  private readonly onTheirWay = new Set<Letter>();

  constructor(
    private readonly stage: InboxStage,
    readonly agent_id: string,
  ) {
    this.rng = stage.world.rng.fork(agent_id);
  }

  live(): void {
    const { world, scenario, post } = this.stage;
    world.schedule(this.rng.exponential(scenario.think_ms), `${this.agent_id} looks`, () => {
      const open = this.mine.filter((letter) => !post.isAnswered(letter));
      for (const letter of open) this.lookAfter(letter);
      if (!this.stage.isOver && open.length < scenario.burst_max) this.writeSome();
      this.live();
    });
  }

  get isContent(): boolean {
    return this.onTheirWay.size === 0 && this.mine.every((letter) => this.stage.post.isAnswered(letter));
  }

  /** As if it had forgotten everything it was told. */
  dropAllAgain(): void {
    for (const letter of this.mine) this.drop(letter);
  }

  private drop(letter: Letter): void {
    const { world, platter } = this.stage;
    this.onTheirWay.add(letter);
    const folder = `/w/events/inbox/${this.agent_id}`;
    const draft = `${folder}/.${letter.name}.tmp`;
    platter.makeFolder(folder);
    platter.remove(draft);
    const file = platter.makeFile(draft);
    file?.append(Buffer.from(letter.text));
    // Without it a loss of power could leave the name without the bytes.
    file?.sync();
    // One after the other, as it wrote them.
    this.last_move_ms = Math.max(this.last_move_ms, world.now_ms) + this.rng.between(0, MOVE_MS_MAX);
    world.schedule(this.last_move_ms - world.now_ms, `${letter.says} is dropped`, () => {
      this.onTheirWay.delete(letter);
      if (platter.rename(draft, inboxPath(letter))) this.stage.post.dropped(letter);
    });
  }

  private lookAfter(letter: Letter): void {
    const { post, world } = this.stage;
    if (post.isWaiting(letter) || this.onTheirWay.has(letter)) return;
    if (letter.dropped_in_outage === post.outages) {
      world.violate(
        'INBOX-LOST',
        `${letter.says} is gone, nothing is told of it, and the power never failed`,
      );
    }
    this.drop(letter);
  }

  private writeSome(): void {
    const { post, scenario } = this.stage;
    const count = 1 + this.rng.int(scenario.burst_max);
    for (let each = 0; each < count && post.letters.length < scenario.commands; each += 1) {
      const name = `${String(this.mine.length).padStart(4, '0')}.json`;
      const letter = new Letter(this.agent_id, name, this.textOf(this.kind()));
      this.mine.push(letter);
      post.add(letter);
      this.drop(letter);
    }
  }

  private kind(): Kind {
    return this.rng.weighted<Kind>({
      claim: 5,
      heartbeat: 3,
      step: 2,
      release: 3,
      converge: 1,
      stray: 2,
      garbage: 0.5,
    });
  }

  private textOf(kind: Kind): string {
    if (kind === 'garbage') return `{"event_type": "edge_claim", ${this.rng.int(100)}`;
    const about = { feature: this.feature(), edge: this.rng.pick(EDGES) };
    const { lease_seconds: lease_duration_seconds } = this.stage.scenario;
    if (kind === 'claim') {
      return JSON.stringify({ event_type: 'edge_claim', ...about, lease_duration_seconds });
    }
    const held = kind === 'stray' ? { ...about, generation: 1 + this.rng.int(4) } : this.lastGrant(about);
    const ends = { heartbeat: 3, step: 2, release: 2, converge: 1 };
    const does = kind === 'stray' ? this.rng.weighted(ends) : kind;
    switch (does) {
      case 'heartbeat':
        return JSON.stringify({ event_type: 'heartbeat', ...held, lease_duration_seconds });
      case 'step':
        return JSON.stringify({
          event_type: 'iteration_completed',
          ...held,
          iteration: 1,
          status: 'iterating',
        });
      case 'release':
        return JSON.stringify({ event_type: 'edge_released', ...held });
      case 'converge':
        return JSON.stringify({
          event_type: 'edge_converged',
          ...held,
          iteration: 1,
          result: { by: this.agent_id },
        });
    }
  }

  private feature(): string {
    const newest = Math.floor(this.stage.post.letters.length / LETTERS_PER_FEATURE) + FEATURES_AT_ONCE;
    return `REQ-F-SIM-${String(newest - this.rng.int(FEATURES_AT_ONCE)).padStart(3, '0')}`;
  }

  /** What it was granted last, or believes that it will be. */
  private lastGrant(otherwise: { feature: string; edge: string }): object {
    const granted = this.mine.findLast(({ lastTold }) => lastTold?.code === 'GRANTED');
    const hoped = this.mine.findLast(({ command }) => command?.kind === 'claim');
    const letter = this.rng.chance(0.8) ? (granted ?? hoped) : hoped;
    if (letter?.command === undefined || letter.command === null) return { ...otherwise, generation: 1 };
    const { feature, edge } = JSON.parse(letter.text);
    return { feature, edge, generation: letter.lastTold?.generation ?? 1 };
  }
}
