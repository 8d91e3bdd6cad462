import { type Coordinator, isProblem } from '../../src/coordinator/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { type ActorContext, SimActor } from './sim-actor.js';

const PAGE = 100;

/** Reads a project's feed from its last cursor, from any coordinator, and checks that no event is missing. */
export class FeedFollower extends SimActor {
  private seenIds: string[] = [];
  private cursor = '';
  private incarnation = 1;

  constructor(context: ActorContext, projectKey: ProjectKey) {
    super(context, projectKey, 'follower', null);
  }

  protected override thinkMs(): number {
    return this.context.scenario.think_ms * 5;
  }

  protected override async actRandomly(): Promise<void> {
    await this.follow();
  }

  protected override async actDiligently(): Promise<void> {
    await this.follow();
  }

  /** Runs at the end, when the log no longer grows. */
  finish(): void {
    if (this.incarnation !== this.context.fleet.incarnation) return;
    for (const [at, eventId] of this.seenIds.entries()) this.compareWithLog(at, eventId);
  }

  private async follow(): Promise<void> {
    const instance = this.context.fleet.instanceAt(this.rng.int(this.context.fleet.size));
    if (instance === null) return;
    if (this.incarnation !== this.context.fleet.incarnation) {
      this.incarnation = this.context.fleet.incarnation;
      this.seenIds = [];
      this.cursor = '';
    }
    // The page is read in the coordinator's process; if that dies there is no reply, so nothing here awaits it.
    instance.process.runAfter(1, 'serves the feed', () => {
      const page = instance.coordinator.feed.page(this.scope, { after: this.cursor, limit: PAGE });
      void this.read(page, this.incarnation);
    });
  }

  private async read(
    page: ReturnType<Coordinator['feed']['page']>,
    expectedIncarnation: number,
  ): Promise<void> {
    const seenCount = this.seenIds.length;
    const feedPage = await page.catch(() => null);
    if (expectedIncarnation !== this.incarnation || seenCount !== this.seenIds.length) return;
    if (feedPage === null || isProblem(feedPage)) return;
    this.cursor = feedPage.next;
    for (const event of feedPage.events) {
      if (event.position !== this.seenIds.length + 1) {
        this.context.world.reportViolation(
          'INV-21',
          `the feed continues with position ${event.position} after ${this.seenIds.length}`,
        );
      }
      this.seenIds.push(event.event_id);
      this.compareWithLog(this.seenIds.length - 1, event.event_id);
    }
  }

  private compareWithLog(at: number, eventId: string): void {
    const logged = this.projectMonitor().events[at];
    if (logged === undefined || logged.event_id === eventId) return;
    this.context.world.reportViolation(
      'INV-21',
      `the feed showed ${eventId} at ${at + 1}, the log has ${logged.event_id}`,
    );
  }
}
