import { type Coordinator, isProblem } from '../../src/coordinator/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { Actor, type Stage } from './stage.js';

const PAGE = 100;

/** Reads a project's feed from where it left off, whoever serves it, and misses nothing. */
export class Follower extends Actor {
  private seen: string[] = [];
  private cursor = '';
  private incarnation = 1;

  constructor(stage: Stage, scope: ProjectKey) {
    super(stage, scope, 'follower', null);
  }

  protected override thinkMs(): number {
    return this.stage.scenario.think_ms * 5;
  }

  protected override async actWildly(): Promise<void> {
    await this.follow();
  }

  protected override async actDiligently(): Promise<void> {
    await this.follow();
  }

  /** At the end, when the log grows no more. */
  finish(): void {
    if (this.incarnation !== this.stage.fleet.incarnation) return;
    for (const [at, event_id] of this.seen.entries()) this.compare(at, event_id);
  }

  private async follow(): Promise<void> {
    const site = this.stage.fleet.site(this.rng.int(this.stage.fleet.size));
    if (site === null) return;
    if (this.incarnation !== this.stage.fleet.incarnation) {
      this.incarnation = this.stage.fleet.incarnation;
      this.seen = [];
      this.cursor = '';
    }
    // The answer comes in the coordinator's process; if that dies, it never does, and we do not wait for it.
    site.process.after(1, 'serves the feed', () => {
      const page = site.coordinator.feed.page(this.scope, { after: this.cursor, limit: PAGE });
      void this.read(page, this.incarnation);
    });
  }

  private async read(page: ReturnType<Coordinator['feed']['page']>, asked: number): Promise<void> {
    const from = this.seen.length;
    const answer = await page.catch(() => null);
    if (asked !== this.incarnation || from !== this.seen.length) return;
    if (answer === null || isProblem(answer)) return;
    this.cursor = answer.next;
    for (const event of answer.events) {
      if (event.position !== this.seen.length + 1) {
        this.stage.world.violate(
          'INV-21',
          `the feed goes on with ${event.position} after ${this.seen.length}`,
        );
      }
      this.seen.push(event.event_id);
      this.compare(this.seen.length - 1, event.event_id);
    }
  }

  private compare(at: number, event_id: string): void {
    const logged = this.watch().events[at];
    if (logged === undefined || logged.event_id === event_id) return;
    this.stage.world.violate(
      'INV-21',
      `the feed showed ${event_id} at ${at + 1}, the log has ${logged.event_id}`,
    );
  }
}
