import { type Coordinator, isProblem } from '../../src/coordinator/index.js';
import type { ProjectKey } from '../../src/stores/store.js';
import { type ActorContext, SimActor } from './sim-actor.js';

const PAGE_EVENTS = 100;

/** Reads a project's feed from its last cursor, from any coordinator, and checks that it shows the events of the log. */
export class FeedFollower extends SimActor {
  private readEventIds: string[] = [];
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

  /** Compares all that was read with the log, at the end, when the log no longer grows. */
  finish(): void {
    if (this.incarnation !== this.context.fleet.incarnation) return;
    for (const [index, eventId] of this.readEventIds.entries()) this.compareWithLog(index, eventId);
  }

  private async follow(): Promise<void> {
    const instance = this.context.fleet.instanceAt(this.rng.int(this.context.fleet.size));
    if (instance === null) return;
    if (this.incarnation !== this.context.fleet.incarnation) {
      this.incarnation = this.context.fleet.incarnation;
      this.readEventIds = [];
      this.cursor = '';
    }
    // The page is read in the coordinator's process; if that process dies, there is no reply. So nothing here awaits the page.
    instance.process.runAfter(1, 'serves the feed', () => {
      const page = instance.coordinator.feed.page(this.projectKey, {
        after: this.cursor,
        limit: PAGE_EVENTS,
      });
      void this.readPage(page, this.incarnation);
    });
  }

  private async readPage(
    page: ReturnType<Coordinator['feed']['page']>,
    expectedIncarnation: number,
  ): Promise<void> {
    const readCount = this.readEventIds.length;
    const feedPage = await page.catch(() => null);
    if (expectedIncarnation !== this.incarnation || readCount !== this.readEventIds.length) return;
    if (feedPage === null || isProblem(feedPage)) return;
    this.cursor = feedPage.next;
    for (const event of feedPage.events) {
      if (event.position !== this.readEventIds.length + 1) {
        this.context.world.reportViolation(
          'INV-21',
          `the feed continues with position ${event.position} after ${this.readEventIds.length}`,
        );
      }
      this.readEventIds.push(event.event_id);
      this.compareWithLog(this.readEventIds.length - 1, event.event_id);
    }
  }

  private compareWithLog(index: number, eventId: string): void {
    const logged = this.projectMonitor().events[index];
    if (logged === undefined || logged.event_id === eventId) return;
    this.context.world.reportViolation(
      'INV-21',
      `the feed showed ${eventId} at ${index + 1}, the log has ${logged.event_id}`,
    );
  }
}
