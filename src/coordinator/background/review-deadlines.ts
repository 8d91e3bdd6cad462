import { subjectsWithOpenClaim } from '../../core/views/index.js';
import { reviewTimesOf } from '../methodology/review-times.js';
import { recordReviewTimeout, reviewIdOf } from '../operations/review-events.js';
import type { Project } from '../queue/project.js';

const TIMEOUTS_MAX = 1000;

/** Records the reviews whose deadline has passed, each once. They stay open as long as their claim does. */
export class ReviewDeadlines {
  /** Ids of overdue reviews that are recorded. Recording one again, as after a restart, adds no event. */
  private readonly recordedReviews = new WeakMap<Project, ReadonlySet<string>>();

  /** Records the reviews that are newly overdue. Resolves to the number of those that could be recorded. */
  async record(project: Project): Promise<number> {
    const previous = this.recordedReviews.get(project);
    const overdue = overdueReviews(project);
    const newlyOverdue = [...overdue].filter(([id]) => previous?.has(id) !== true);
    const replies = await Promise.all(
      newlyOverdue.map(([, subject]) => project.run(recordReviewTimeout(subject))),
    );
    const unrecorded = new Set(newlyOverdue.filter((_, at) => replies[at] !== true).map(([id]) => id));
    this.recordedReviews.set(project, new Set([...overdue.keys()].filter((id) => !unrecorded.has(id))));
    return newlyOverdue.length - unrecorded.size;
  }
}

/** The subjects that have an overdue review, by the id of the review. */
function overdueReviews(project: Project): ReadonlyMap<string, string> {
  const view = project.view();
  const settings = view.methodology?.engine?.review;
  const found = new Map<string, string>();
  for (const subject of subjectsWithOpenClaim(project.state)) {
    if (found.size >= TIMEOUTS_MAX) break;
    const head = view.peekHead(subject);
    const times = reviewTimesOf(head, settings);
    if (times?.deadline_ms == null || view.now_ms < times.deadline_ms || head.gate === null) continue;
    found.set(reviewIdOf({ task_id: subject, ...head.gate }), subject);
  }
  return found;
}
