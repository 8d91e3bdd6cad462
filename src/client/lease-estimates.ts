import type { Limits } from '../core/contract/settings.js';
import { withoutUndefined } from '../core/without-undefined.js';
import type { ApiClient } from './api-client.js';
import { isProblem } from './replies.js';
import type { ReplyPromise } from './requests.js';

const DEFAULT_LEASE_SECONDS = 300;
/** Minimum estimate, so that a short server restart costs no claim even if the work itself is short. */
const LEASE_SECONDS_MIN = 30;
const DURATIONS_MAX = 200;
const SAMPLE_TASKS_MAX = 100;
const DURATION_PERCENTILE = 0.9;

/**
 * Estimates lease durations: about the 90th percentile of the track's past durations. A task then needs a few
 * renewals, and a crashed agent delays others by about one task.
 */
export class LeaseEstimates {
  private readonly durations = new Map<string, Promise<number[]>>();
  private limits: ReplyPromise<Limits> | null = null;

  constructor(private readonly client: ApiClient) {}

  async estimateFor(track: string | undefined): Promise<number> {
    this.limits ??= this.client.limits();
    const limits = await this.limits;
    if (isProblem(limits)) return DEFAULT_LEASE_SECONDS;
    const durations = [...(await this.durationsOf(track))].sort((a, b) => a - b);
    const percentileMs = durations[Math.ceil(durations.length * DURATION_PERCENTILE) - 1];
    const seconds =
      percentileMs === undefined
        ? DEFAULT_LEASE_SECONDS
        : Math.max(Math.ceil(percentileMs / 1000), LEASE_SECONDS_MIN);
    return Math.min(Math.max(seconds, limits.min_lease_duration_seconds), limits.max_lease_duration_seconds);
  }

  async recordDuration(track: string | undefined, durationMs: number): Promise<void> {
    const durations = await this.durationsOf(track);
    durations.push(durationMs);
    if (durations.length > DURATIONS_MAX) durations.shift();
  }

  private durationsOf(track: string | undefined): Promise<number[]> {
    const durations = this.durations.get(track ?? '') ?? this.readDurations(track);
    this.durations.set(track ?? '', durations);
    return durations;
  }

  private async readDurations(track: string | undefined): Promise<number[]> {
    const sample = withoutUndefined({ phase: 'COMPLETED', limit: SAMPLE_TASKS_MAX, track } as const);
    const completedTasks = await this.client.tasks(sample);
    if (isProblem(completedTasks)) return [];
    return completedTasks.tasks.flatMap(({ claim, result }) => {
      if (claim === null || result === null || claim.generation !== result.generation) return [];
      return [Date.parse(result.submitted_at) - Date.parse(claim.claimed_at)];
    });
  }
}
